import type { AuditLine } from "../api/access-answers.js";
import { usePaged } from "../api/paged.js";
import { Badge, type Tone } from "../parts/badge.js";
import { Name } from "../parts/name.js";
import { ErrorNote, Freshness } from "../parts/notes.js";
import { Pager } from "../parts/pager.js";
import { PageHead, Panel } from "../parts/panel.js";
import { Table } from "../parts/table.js";
import { Time } from "../parts/when.js";

export function Audit() {
  const lines = usePaged<AuditLine>("/audit");
  return (
    <>
      <PageHead title="Audit" says="Who changed what, or looked at what somebody wrote; refused ones too." />
      <ErrorNote error={lines.error} />
      <Panel title="Newest first" aside={<Freshness reading={lines} />} flush>
        <Table
          caption="The audit"
          rows={lines.items}
          rowKey={({ id }) => id}
          empty="Nothing yet"
          columns={[
            { title: "At", cell: ({ at }) => <Time at={at} /> },
            { title: "Who", cell: ({ actor }) => <Name of={actor} /> },
            { title: "Did", wide: true, cell: (line) => <Deed line={line} /> },
            { title: "Outcome", cell: ({ outcome }) => <Badge tone={toneOf(outcome)}>{outcome}</Badge> },
            { title: "From", cell: ({ address }) => <span class="muted num">{address ?? "–"}</span> },
            { title: "Node", cell: ({ node_id: id }) => <span class="muted">{id ?? "–"}</span> },
          ]}
        />
      </Panel>
      <Pager paged={lines} />
    </>
  );
}

function Deed({ line: { action, target } }: { readonly line: AuditLine }) {
  return (
    <>
      <Name of={action} mono />
      {target === null ? null : (
        <div class="muted">
          <Name of={target} />
        </div>
      )}
    </>
  );
}

/** A status of HTTP, or a word. */
function toneOf(outcome: string): Tone {
  if (outcome === "begun") return "warn";
  if (outcome === "done" || outcome.startsWith("2")) return "good";
  return outcome.startsWith("5") ? "bad" : "warn";
}
