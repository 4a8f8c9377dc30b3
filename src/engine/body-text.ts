import { isUtf8 } from "node:buffer";
import { HoldfastError } from "../errors.js";
import { charsetOf } from "./charset.js";
import { type Charset, encodeExactly } from "./core/hl7/charset.js";
import { peekHeader } from "./core/hl7/header.js";

/** How the bytes of a message are to be read by whoever gets them from us. */
export interface BodyKind {
  readonly contentType: string;
  /** For a file of it. */
  readonly extension: string;
}

/** `assumed`: the charset of messages that do not name theirs. Never throws. */
export function kindOfBody(body: Buffer, assumed?: string): BodyKind {
  const charset = hl7CharsetOf(body, assumed);
  if (charset !== null) {
    return { contentType: `application/hl7-v2; charset=${registeredName(charset)}`, extension: "hl7" };
  }
  if (isUtf8(body) && !body.includes(0)) return { contentType: "text/plain; charset=utf-8", extension: "txt" };
  return { contentType: "application/octet-stream", extension: "bin" };
}

/** The bytes of a message that somebody wrote as text: in the charset that it names, or else in the one that is assumed. */
export function bodyOfText(text: string, assumed?: string): Buffer {
  const charset = hl7CharsetOf(Buffer.from(text), assumed) ?? charsetOf("", assumed);
  const encoded = encodeExactly(charset, text);
  if (encoded.kind === "encoded") return Buffer.from(encoded.bytes);
  const problem = `holds a character that the message's charset (${charset.name}) does not have`;
  throw new HoldfastError("INVALID_REQUEST", `body ${problem}: send it as base64, or change MSH-18.`, {
    details: { problems: [{ field: "body", problem }] },
  });
}

function hl7CharsetOf(body: Uint8Array, assumed: string | undefined): Charset | null {
  const { header } = peekHeader(body, { charsetOf: (declared) => charsetOf(declared, assumed) });
  return header === null ? null : charsetOf(header.charset, assumed);
}

/** As browsers and clients of HTTP know it. */
function registeredName({ name }: Charset): string {
  const known: Readonly<Record<string, string>> = {
    ascii: "us-ascii",
    euckr: "euc-kr",
    eucjp: "euc-jp",
    shiftjis: "shift_jis",
  };
  const lower = name.toLowerCase().replace(/^8859\/(\d+)$/, "iso-8859-$1");
  return known[lower] ?? lower;
}
