import { delimiterFraming } from "../../core/framing/delimiter-framing.js";
import type { Framing } from "../../core/framing/framing.js";
import { lengthFraming } from "../../core/framing/length-framing.js";
import { Fields } from "../setting-fields.js";
import type { Checked } from "../transport.js";
import { type LinkSettings, linkFields, readLink } from "./link-settings.js";
import { type ListenerSettings, listenerFields, readListener } from "./listener-settings.js";

/** A text is framed like a message; bytes go out as they are. */
export type TcpAnswer = string | Uint8Array;

export interface TcpInboundSettings extends ListenerSettings {
  readonly framing: Framing;
  /** What is answered after the commit; null where the sender is told nothing. */
  readonly answer: TcpAnswer | ((body: Buffer) => TcpAnswer) | null;
}

export interface TcpOutboundSettings extends LinkSettings {
  readonly framing: Framing;
  readonly waitForAnswer: boolean;
  /** What a good answer is; null where any is. */
  readonly expect: Uint8Array | null;
}

export function checkTcpInbound(given: unknown, where: string): Checked<TcpInboundSettings> {
  const fields = new Fields(given, where, [...listenerFields, "framing", "answer"]);
  const listener = readListener(fields);
  const framing = readFraming(fields);
  return fields.checked({ ...listener, framing, answer: readAnswer(fields, framing) });
}

export function checkTcpOutbound(given: unknown, where: string): Checked<TcpOutboundSettings> {
  const fields = new Fields(given, where, [...linkFields, "framing", "waitForAnswer", "expect"]);
  const link = readLink(fields);
  const expect = fields.has("expect") ? bytesOf(fields, "expect") : null;
  const waitForAnswer = fields.flag("waitForAnswer", expect !== null);
  if (expect !== null && !waitForAnswer)
    fields.wrong("expects an answer that it does not wait for: set waitForAnswer.");
  return fields.checked({ ...link, framing: readFraming(fields), waitForAnswer, expect });
}

const placeholder = delimiterFraming({ delimiter: Uint8Array.of(0), keep: false });
const framingMustBe = '{ kind: "delimiter", delimiter: "\\n" } or { kind: "length", bytes: 4 }';

function readFraming(fields: Fields): Framing {
  const kind = (fields.value("framing") as { readonly kind?: unknown } | null | undefined)?.kind;
  if (kind === "delimiter") {
    const framing = fields.section("framing", ["kind", "delimiter", "keep"]);
    if (framing === null) return placeholder;
    const delimiter = bytesOf(framing, "delimiter");
    const keep = framing.flag("keep", false);
    return delimiter === null ? placeholder : delimiterFraming({ delimiter, keep });
  }
  if (kind === "length") {
    const framing = fields.section("framing", ["kind", "bytes", "endian", "inclusive"]);
    if (framing === null) return placeholder;
    if (!framing.has("bytes")) framing.bad("bytes", "1, 2 or 4: how many bytes the length has");
    return lengthFraming({
      bytes: framing.oneOf("bytes", [1, 2, 4], 4),
      endian: framing.oneOf("endian", ["big", "little"], "big"),
      inclusive: framing.flag("inclusive", false),
    });
  }
  fields.bad("framing", framingMustBe);
  return placeholder;
}

const longestBytes = 1_024;

/** A text as UTF-8, or bytes; not empty. Null where it is neither, which is then told. */
function bytesOf(fields: Fields, field: string): Uint8Array | null {
  const value = fields.value(field);
  const bytes = typeof value === "string" ? Buffer.from(value) : value;
  if (bytes instanceof Uint8Array && bytes.length > 0 && bytes.length <= longestBytes) return bytes;
  fields.bad(field, `a text or bytes, from 1 to ${longestBytes} long`);
  return null;
}

function readAnswer(fields: Fields, framing: Framing): TcpInboundSettings["answer"] {
  const answer = fields.value("answer") ?? null;
  if (answer === null || answer === "none") return null;
  if (typeof answer === "function") return answer as (body: Buffer) => TcpAnswer;
  if (bytesOf(fields, "answer") === null) return null;
  const framed = typeof answer === "string" ? framing.frame(Buffer.from(answer)) : null;
  if (framed?.kind === "unframeable") fields.bad("answer", `a text that can be framed, but ${framed.reason}`);
  return answer as TcpAnswer;
}
