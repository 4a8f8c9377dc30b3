import { useId, useState } from "preact/hooks";
import { type ApiError, asApiError } from "../api/api-error.js";
import { act } from "../api/client.js";
import type { Account, Connection, Replay } from "../api/message-answers.js";
import type { Page } from "../api/paged.js";
import { getRawBody } from "../api/raw-body.js";
import { useReading } from "../api/reading.js";
import { useMay } from "../api/session.js";
import { hrefTo } from "../layout/route.js";
import { Confirm } from "../parts/action.js";
import { ErrorNote } from "../parts/notes.js";
import { charsetOf, decode } from "../text/body-decoding.js";
import { type Editable, fromEditable, toEditable } from "../text/editable-body.js";
import { Destination } from "./destination.js";

/** Takes one message in again: to all or to one, as it came or edited. */
export function MessageReplay({ message, onClose }: { readonly message: Account; readonly onClose: () => void }) {
  const connections = useReading<Page<Connection>>("/connections", { limit: 1000 }, 0).data?.items ?? [];
  const mayRead = useMay("messages:read");
  const [to, setTo] = useState("all");
  const [body, setBody] = useState<Editable>();
  const run = async (): Promise<string> => {
    const edited = body?.kind === "editable" ? { body: fromEditable(body.text, body.lineEnd) } : {};
    const path = `/messages/${encodeURIComponent(message.id)}/replay`;
    const { id } = await act<Replay>("POST", path, { to, ...edited });
    location.hash = hrefTo("/messages", [id]);
    return `It was taken in again as message ${id}.`;
  };
  return (
    <Confirm
      title={`Replay message ${message.id}`}
      verb="Replay"
      wide={body !== undefined}
      ready={body?.kind !== "not_editable"}
      run={run}
      onClose={onClose}
      says={
        <>
          <p>
            It is taken in again as a new message of {message.connection} that names this one, and goes through the
            router and the handlers as they are now. Systems that got it before get it once more.
          </p>
          <Destination connections={connections} to={to} onChoose={setTo} />
          {mayRead ? <Edit message={message} body={body} onChange={setBody} /> : null}
        </>
      }
    />
  );
}

interface EditProps {
  readonly message: Account;
  readonly body: Editable | undefined;
  readonly onChange: (body: Editable | undefined) => void;
}

function Edit({ message, body, onChange }: EditProps) {
  const id = useId();
  const [error, setError] = useState<ApiError>();
  const load = (): void => {
    setError(undefined);
    editableOf(message).then(onChange, (thrown: unknown) => setError(asApiError(thrown)));
  };
  if (body === undefined) {
    return (
      <>
        <ErrorNote error={error} />
        <p class="ask">
          <button type="button" class="button" onClick={load}>
            Edit it first
          </button>
          <span class="muted">Its body is fetched for that, which is written into the audit.</span>
        </p>
      </>
    );
  }
  const back = (
    <button type="button" class="button" onClick={() => onChange(undefined)}>
      Replay it as it came
    </button>
  );
  if (body.kind === "not_editable") {
    return (
      <p class="ask">
        It cannot be edited here. {body.why} {back}
      </p>
    );
  }
  return (
    <div class="field">
      <label for={id}>Its body, a line a segment</label>
      <textarea
        id={id}
        rows={14}
        spellcheck={false}
        value={body.text}
        onInput={({ currentTarget }) => onChange({ ...body, text: currentTarget.value })}
      />
      <div class="ask">{back}</div>
    </div>
  );
}

async function editableOf({ id, size }: Account): Promise<Editable> {
  const { bytes, total, contentType } = await getRawBody(`/messages/${encodeURIComponent(id)}/body`, size);
  const charset = charsetOf(contentType);
  if (bytes.length < total || total > mostEdited) return { kind: "not_editable", why: "It is too long." };
  if (charset === null) return { kind: "not_editable", why: "It is no text." };
  const { text, exact } = decode(bytes, charset);
  if (!exact) return { kind: "not_editable", why: "Some of its bytes are no characters of its charset." };
  return toEditable(text);
}

/** A request has a mebibyte with its JSON. */
const mostEdited = 500_000;
