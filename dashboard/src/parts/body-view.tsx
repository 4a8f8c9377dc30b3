import { useMemo, useState } from "preact/hooks";
import type { RawBody } from "../api/raw-body.js";
import { charsetOf, decode } from "../text/body-decoding.js";
import { type BodyLine, linesOf } from "../text/body-lines.js";
import { hexDump } from "../text/hex-dump.js";
import { type Hl7Segment, hl7SegmentsOf } from "../text/hl7-fields.js";
import { formatBytes, formatCount } from "../time/format.js";
import { Name } from "./name.js";
import { ScrollArea } from "./scroll-area.js";
import { Segments } from "./segments.js";

type Mode = "text" | "fields" | "bytes";

interface BodyViewProps {
  readonly body: RawBody;
  /** Where all of it is, for whoever wants it as a file. */
  readonly download: string;
  readonly fileName?: string;
  /** The lines of another version of it: those that are not among them are marked. */
  readonly known?: ReadonlySet<string>;
}

/** What a message says, whatever that is: text with all that is in it made visible, HL7 by its fields, or plain bytes. */
export function BodyView({ body, download, fileName = "", known }: BodyViewProps) {
  const { bytes, total, contentType } = body;
  const charset = charsetOf(contentType);
  const whole = bytes.length >= total;
  const decoded = useMemo(() => decode(bytes, charset ?? "iso-8859-1", whole), [bytes, charset, whole]);
  const segments = useMemo(() => (charset === null ? null : hl7SegmentsOf(decoded.text)), [decoded, charset]);
  const lines = useMemo(() => linesOf(decoded.text), [decoded]);
  const [mode, setMode] = useState<Mode>(charset === null ? "bytes" : "text");
  const tabs: [Mode, string][] = [["text", "Text"], ...(segments === null ? [] : [fieldsTab]), ["bytes", "Bytes"]];
  const isCut = !whole || lines.left > 0;
  const says = [
    formatBytes(total),
    mode === "bytes" ? null : decoded.charset,
    mode === "text" && lines.lineEnd !== "none"
      ? `${isCut ? "the first " : ""}${formatCount(lines.lines.length)} lines, ${lines.lineEnd}`
      : null,
    mode === "text" && !decoded.exact && whole ? "some bytes are no characters of it" : null,
  ].filter((part) => part !== null);
  return (
    <div class="body">
      <div class="body-head">
        <Segments label="How to show it" options={tabs} chosen={mode} onChoose={setMode} />
        <span class="muted">{says.join(" · ")}</span>
        <a class="button" href={download} download={fileName}>
          Download
        </a>
      </div>
      {mode === "text" ? <TextBody lines={lines.lines} isHl7={segments !== null} known={known} /> : null}
      {mode === "fields" && segments !== null ? <FieldsBody segments={segments} /> : null}
      {mode === "bytes" ? <BytesBody bytes={bytes} /> : null}
      <Cut mode={mode} isCut={isCut} total={total} />
    </div>
  );
}

const fieldsTab: [Mode, string] = ["fields", "Fields"];

function Cut({ mode, isCut, total }: { readonly mode: Mode; readonly isCut: boolean; readonly total: number }) {
  const shown = mode === "bytes" ? total > mostRows * 16 : isCut;
  return shown ? <p class="body-cut">This is its beginning. Download it to see all {formatBytes(total)}.</p> : null;
}

interface TextBodyProps {
  readonly lines: readonly BodyLine[];
  readonly isHl7: boolean;
  readonly known: ReadonlySet<string> | undefined;
}

function TextBody({ lines, isHl7, known }: TextBodyProps) {
  return (
    <ScrollArea kind="body-lines" label="The text">
      {lines.map(({ pieces, text }, index) => (
        <div key={index} class={known === undefined || known.has(text) ? "" : "changed"}>
          {pieces.map((piece, at) => {
            if (piece.kind === "mark") {
              return (
                <span key={at} class="mark" title={piece.title}>
                  {piece.text}
                </span>
              );
            }
            if (!isHl7 || at > 0) return piece.text;
            return [<b key="segment">{piece.text.slice(0, 3)}</b>, piece.text.slice(3)];
          })}
          {pieces.length === 0 ? " " : null}
        </div>
      ))}
    </ScrollArea>
  );
}

function FieldsBody({ segments }: { readonly segments: readonly Hl7Segment[] }) {
  return (
    <ScrollArea kind="body-fields" label="The fields">
      {segments.map(({ name, fields }, index) => (
        <section key={index} aria-label={name}>
          <h3>
            <Name of={name} />
          </h3>
          <dl>
            {fields.map((field) => (
              <div key={field.name}>
                <dt>
                  <Name of={field.name} />
                </dt>
                <dd>
                  {field.values.map((value, at) => (
                    <div key={at}>
                      <Name of={value} />
                    </div>
                  ))}
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </ScrollArea>
  );
}

const mostRows = 1_024;

function BytesBody({ bytes }: { readonly bytes: Uint8Array }) {
  const rows = useMemo(() => hexDump(bytes, mostRows), [bytes]);
  return (
    <ScrollArea kind="body-bytes" label="The bytes">
      {rows.map(({ offset, hex, text }) => (
        <div key={offset}>
          <span class="faint">{offset}</span> {hex.padEnd(49)} <span class="muted">{text}</span>
        </div>
      ))}
    </ScrollArea>
  );
}
