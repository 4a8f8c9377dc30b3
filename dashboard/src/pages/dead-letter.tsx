import { useEffect, useMemo, useState } from "preact/hooks";
import { type ApiError, asApiError } from "../api/api-error.js";
import { get } from "../api/client.js";
import type { Letter, LetterBody } from "../api/queue-answers.js";
import type { RawBody } from "../api/raw-body.js";
import { useReading } from "../api/reading.js";
import { useMay } from "../api/session.js";
import { hrefTo } from "../layout/route.js";
import { BodyView } from "../parts/body-view.js";
import { Facts } from "../parts/facts.js";
import { Name } from "../parts/name.js";
import { ErrorNote, Loading } from "../parts/notes.js";
import { PageHead, Panel } from "../parts/panel.js";
import { Time } from "../parts/when.js";
import { bytesOfBase64 } from "../text/body-decoding.js";
import { formatBytes } from "../time/format.js";
import { Redrive } from "./redrive.js";

export function DeadLetter({ id }: { readonly id: string }) {
  const path = `/dead-letters/${encodeURIComponent(id)}`;
  const letter = useReading<Letter>(path);
  const { data } = letter;
  return (
    <>
      <PageHead title={`Dead letter ${id}`}>
        <a class="button" href={hrefTo("/dead-letters")}>
          All dead letters
        </a>
        {data === undefined ? null : <Redrive letter={data} onDone={letter.again} />}
      </PageHead>
      <ErrorNote error={letter.error} />
      {data === undefined ? letter.error === undefined ? <Loading /> : null : <About letter={data} path={path} />}
    </>
  );
}

function About({ letter, path }: { readonly letter: Letter; readonly path: string }) {
  const { queue, stage, lane, position, reason, attempts, reclaims, size, key } = letter;
  return (
    <>
      <Panel title="Why it made way">
        <p class="said">
          <Name of={reason} />
        </p>
        <Facts
          facts={[
            ["Died", <Time at={letter.died_at} precise />],
            ["Lane", <a href={hrefTo("/dead-letters", [], { queue, stage, lane })}>{<Name of={lane} mono />}</a>],
            ["Queue and stage", `${queue} / ${stage}`],
            ["Role", letter.role],
            ["Position", position],
            ["Key", key === null ? null : <Name of={key} mono />],
            ["Attempts", attempts],
            ["Crashes with it in flight", reclaims === 0 ? null : reclaims],
            ["Size", formatBytes(size)],
            ["Redriven", letter.redriven_at === null ? null : <Time at={letter.redriven_at} precise />],
            ["Position it was given then", letter.redriven_to],
          ]}
        />
      </Panel>
      <LetterBodyPanel id={letter.id} path={`${path}/body`} />
    </>
  );
}

/** Each view is a line in the audit, so that nothing is fetched before somebody asks for it. */
function LetterBodyPanel({ id, path }: { readonly id: string; readonly path: string }) {
  const may = useMay("messages:read");
  const [body, setBody] = useState<LetterBody>();
  const [error, setError] = useState<ApiError>();
  if (!may) return null;
  const show = (): void => {
    setError(undefined);
    get<LetterBody>(path).then(setBody, (thrown: unknown) => setError(asApiError(thrown)));
  };
  return (
    <Panel title="What it says">
      <ErrorNote error={error} />
      {body === undefined ? (
        <p class="ask">
          <button type="button" class="button" onClick={show}>
            Show headers and body
          </button>
          <span class="muted">The view is written into the audit.</span>
        </p>
      ) : (
        <ShownBody id={id} body={body} />
      )}
    </Panel>
  );
}

function ShownBody({ id, body }: { readonly id: string; readonly body: LetterBody }) {
  const raw = useMemo((): RawBody => {
    const bytes = body.encoding === "utf8" ? new TextEncoder().encode(body.body) : bytesOfBase64(body.body);
    const contentType = body.encoding === "utf8" ? "text/plain; charset=utf-8" : null;
    return { bytes, total: bytes.length, contentType };
  }, [body]);
  const url = useMemo(() => URL.createObjectURL(new Blob([raw.bytes as Uint8Array<ArrayBuffer>])), [raw]);
  useEffect(() => () => URL.revokeObjectURL(url), [url]);
  const headers = Object.entries(body.headers).map(([name, value]) => [name, <Name of={value} mono />] as const);
  return (
    <>
      {headers.length === 0 ? null : <Facts facts={headers} />}
      <BodyView body={raw} download={url} fileName={`dead-letter-${id}.bin`} />
    </>
  );
}
