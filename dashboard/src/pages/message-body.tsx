import { useMemo, useState } from "preact/hooks";
import { type ApiError, asApiError } from "../api/api-error.js";
import { withQuery } from "../api/client.js";
import type { Account } from "../api/message-answers.js";
import { getRawBody, type RawBody } from "../api/raw-body.js";
import { BodyView } from "../parts/body-view.js";
import { ErrorNote } from "../parts/notes.js";
import { Panel } from "../parts/panel.js";
import { Segments } from "../parts/segments.js";
import { charsetOf, decode } from "../text/body-decoding.js";
import { visible } from "../text/visible.js";

/** "" is the message as it came; else the number of the step that sent it on. */
type Version = string;

/** What it says, as it came and as it went out. Each view is a line in the audit, so that nobody's is fetched unasked. */
export function MessageBody({ message }: { readonly message: Account }) {
  const [version, setVersion] = useState<Version>("");
  const [bodies, setBodies] = useState<Readonly<Record<Version, RawBody>>>({});
  const [error, setError] = useState<ApiError>();
  const path = `/messages/${encodeURIComponent(message.id)}/body`;
  const sent = message.steps.filter((step) => step.has_body);
  const versions = [
    ["", "As it came"] as const,
    ...sent.map(({ step, lane }) => [String(step), `Sent: ${visible(lane)}`] as const),
  ];
  const came = bodies[""];
  const shown = bodies[version];
  const choose = (next: Version): void => {
    setError(undefined);
    setVersion(next);
  };
  const show = (): void => {
    setError(undefined);
    getRawBody(withQuery(path, { step: version }), message.size).then(
      (body) => setBodies((known) => ({ ...known, [version]: body })),
      (thrown: unknown) => setError(asApiError(thrown)),
    );
  };
  const known = useMemo(() => (version === "" || came === undefined ? undefined : linesOfBody(came)), [version, came]);
  return (
    <Panel title="What it says" aside={<Versions versions={versions} chosen={version} onChoose={choose} />}>
      <ErrorNote error={error} />
      {shown === undefined ? (
        <p class="ask">
          <button type="button" class="button" onClick={show}>
            Show it
          </button>
          <a class="button" href={withQuery(path, { step: version, download: true })} download>
            Download
          </a>
          <span class="muted">Either is written into the audit.</span>
        </p>
      ) : (
        <BodyView
          key={version}
          body={shown}
          download={withQuery(path, { step: version, download: true })}
          {...(known === undefined ? {} : { known })}
        />
      )}
    </Panel>
  );
}

interface VersionsProps {
  readonly versions: readonly (readonly [Version, string])[];
  readonly chosen: Version;
  readonly onChoose: (version: Version) => void;
}

/** A message may go to many. */
function Versions({ versions, chosen, onChoose }: VersionsProps) {
  if (versions.length < 5)
    return <Segments label="Which version" options={versions} chosen={chosen} onChoose={onChoose} />;
  return (
    <select aria-label="Which version" value={chosen} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
      {versions.map(([version, shown]) => (
        <option key={version} value={version}>
          {shown}
        </option>
      ))}
    </select>
  );
}

/** To mark what a handler has changed. */
function linesOfBody({ bytes, contentType }: RawBody): ReadonlySet<string> {
  return new Set(decode(bytes, charsetOf(contentType) ?? "iso-8859-1").text.split(/\r\n|\r|\n/));
}
