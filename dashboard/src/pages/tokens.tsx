import { useState } from "preact/hooks";
import type { Token } from "../api/access-answers.js";
import { act } from "../api/client.js";
import { usePaged } from "../api/paged.js";
import { useSession } from "../api/session.js";
import { Action } from "../parts/action.js";
import { Badge } from "../parts/badge.js";
import { Name } from "../parts/name.js";
import { ErrorNote, Freshness } from "../parts/notes.js";
import { Pager } from "../parts/pager.js";
import { PageHead, Panel } from "../parts/panel.js";
import { Table } from "../parts/table.js";
import { Ago, Until } from "../parts/when.js";
import { visible } from "../text/visible.js";
import { useServerNow } from "../time/clock.js";
import { NewToken } from "./new-token.js";

export function Tokens() {
  const tokens = usePaged<Token>("/tokens");
  const [asking, setAsking] = useState(false);
  const now = useServerNow(10_000) / 1000;
  return (
    <>
      <PageHead title="Tokens" says="What callers show to be let in. Their secrets are kept nowhere.">
        <button type="button" class="button button-primary" onClick={() => setAsking(true)}>
          Create a token…
        </button>
      </PageHead>
      {asking ? <NewToken onDone={tokens.again} onClose={() => setAsking(false)} /> : null}
      <ErrorNote error={tokens.error} />
      <Panel title="Newest first" aside={<Freshness reading={tokens} />} flush>
        <Table
          caption="Tokens"
          rows={tokens.items}
          rowKey={({ id }) => id}
          empty="No token yet"
          emptySays="Whoever sits at this machine may do everything. The first token shuts that door."
          rowClass={(token) => (isOver(token, now) ? "row-done" : "")}
          columns={[
            { title: "Token", wide: true, cell: ({ name }) => <Name of={name} /> },
            { title: "Role", cell: (token) => <Rights token={token} /> },
            { title: "Created", cell: (token) => <Created token={token} /> },
            { title: "State", cell: (token) => <State token={token} now={now} /> },
            {
              title: "Actions",
              bare: true,
              cell: (token) => (isOver(token, now) ? null : <Revoke token={token} onDone={tokens.again} />),
            },
          ]}
        />
      </Panel>
      <Pager paged={tokens} />
    </>
  );
}

const isOver = ({ revoked_at: revoked, expires_at: end }: Token, now: number): boolean =>
  revoked !== null || (end !== null && end <= now);

function Rights({ token: { role, grants } }: { readonly token: Token }) {
  return (
    <>
      {role}
      {grants.length === 0 ? null : (
        <ul class="chips" aria-label="Granted by name">
          {grants.map((grant) => (
            <li key={grant}>{grant}</li>
          ))}
        </ul>
      )}
    </>
  );
}

function Created({ token: { created_at: at, created_by: by } }: { readonly token: Token }) {
  return (
    <>
      <Ago at={at} />
      <div class="muted">
        by <Name of={by} />
      </div>
    </>
  );
}

function State({ token, now }: { readonly token: Token; readonly now: number }) {
  const { revoked_at: revoked, expires_at: end } = token;
  if (revoked !== null) {
    return (
      <Badge>
        revoked <Ago at={revoked} />
      </Badge>
    );
  }
  if (end === null) return <Badge tone="good">valid</Badge>;
  if (end <= now) return <Badge>expired</Badge>;
  return (
    <Badge tone="good">
      ends <Until at={end} />
    </Badge>
  );
}

function Revoke({ token, onDone }: { readonly token: Token; readonly onDone: () => void }) {
  const name = visible(token.name);
  const isOwn = useSession()?.name === token.name;
  const run = async (): Promise<string> => {
    await act("DELETE", `/tokens/${encodeURIComponent(token.id)}`);
    onDone();
    return `Token ${name} is revoked.`;
  };
  return (
    <Action
      permission="tokens"
      verb="Revoke"
      label={`Revoke token ${name}`}
      title={`Revoke token ${name}`}
      danger
      says={
        <p>
          Whoever shows it is turned away, here at once and by the other nodes within a second or two. This cannot be
          undone.
          {isOwn ? " It is the one that you are here by: you are signed out." : ""}
        </p>
      }
      run={run}
    />
  );
}
