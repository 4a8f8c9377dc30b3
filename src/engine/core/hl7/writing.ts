import { HoldfastError } from "../../../errors.js";
import { carriageReturn, lineFeed } from "./bytes.js";
import { type Charset, encodeExactly, scannable } from "./charset.js";
import type { Step } from "./element.js";
import { escapeText } from "./escapes.js";
import type { FieldPath } from "./path.js";
import type { Syntax } from "./segment.js";
import { statesSeparators } from "./separators.js";

/** What may be written into a message, and the bytes it is written as. Whatever may not is an error that says the way out. */

export function invalid(message: string): HoldfastError {
  return new HoldfastError("INVALID_REQUEST", message);
}

/** The bytes of a text, escaped. `where` names the place in errors. */
export function valueBytes(value: string, { separators, charset }: Syntax, where: string): Uint8Array {
  if (typeof value !== "string")
    throw invalid(`${where} must be a text, or null to take it away; make one with String().`);
  const escaped = escapeText(value, separators);
  if (escaped.kind === "inexpressible") {
    throw invalid(
      `${where} would hold ${shown(escaped.character)}, which MSH-2 gives no escape character for; leave it out of the value.`,
    );
  }
  return encoded(escaped.written, charset, where);
}

const verticalTab = 0x0b;
const fileSeparator = 0x1c;

/** The bytes of what is written as it is. Line ends, and what MLLP frames messages with, would end more than the place. */
export function rawBytes(raw: string | Uint8Array, { charset }: Syntax, where: string): Uint8Array {
  if (typeof raw !== "string" && !(raw instanceof Uint8Array)) throw invalid(`${where} must be a text or bytes.`);
  // Bytes are copied, so that what their owner does to them later changes nothing here.
  const bytes = typeof raw === "string" ? encoded(raw, charset, where) : Uint8Array.from(raw);
  const wrong = [carriageReturn, lineFeed, verticalTab, fileSeparator].find((byte) => bytes.includes(byte));
  if (wrong !== undefined) {
    throw invalid(
      `${where} would hold ${shown(String.fromCharCode(wrong))}; write it as an escape sequence, or use set.`,
    );
  }
  return bytes;
}

/** Refuses the separators that would make more of the place than it is. */
export function checkWithin(bytes: Uint8Array, place: FieldPath, { separators, charset }: Syntax, where: string): void {
  const { repetition, component, subcomponent } = place;
  const forbidden = [
    separators.field,
    repetition !== null || component !== null ? separators.repetition : "",
    component !== null ? separators.component : "",
    subcomponent !== null ? separators.subcomponent : "",
  ];
  const scan = scannable(charset, bytes);
  const wrong = forbidden.find((separator) => separator !== "" && scan.includes(separator.charCodeAt(0)));
  if (wrong !== undefined) {
    throw invalid(`${where} would hold ${shown(wrong)}, which ends it; escape it, set what lies above, or use set.`);
  }
}

/** Refuses places that need a separator which the message does not have. */
export function checkReachable(steps: readonly Step[], where: string): void {
  const wrong = steps.find(({ separator, number }) => separator === "" && number !== 1);
  if (wrong !== undefined) throw invalid(`${where} cannot be reached: MSH-2 names no separator for it.`);
}

/** MSH-1 and MSH-2 say how the whole message is written, and MSH-18 in which charset. */
export function checkChangeable(segment: string, { field }: FieldPath, { isRaw }: { readonly isRaw: boolean }): void {
  if (!statesSeparators(segment)) return;
  if (field <= 2) {
    throw invalid(
      `${segment}-${field} holds the separators that the message is written with; write a new message instead.`,
    );
  }
  if (field === 18 && segment === "MSH" && !isRaw) {
    throw invalid("MSH-18 names the charset of the bytes; change both with recoded, or the name alone with setRaw.");
  }
}

/** The name of a segment to be added. */
export function checkedName(name: string): string {
  if (!/^[A-Z][A-Z0-9]{2}$/.test(name)) {
    throw invalid(`${shown(String(name))} names no segment; use three characters, like NTE or ZPI.`);
  }
  if (statesSeparators(name))
    throw invalid(`A message has one MSH segment, and no other that states separators: ${name}.`);
  return name;
}

/** A text in a charset, all of it. */
export function encoded(text: string, charset: Charset, where: string): Uint8Array {
  const result = encodeExactly(charset, text);
  if (result.kind === "encoded") return result.bytes;
  throw invalid(
    `${where} would hold ${shown(result.character)}, which ${charset.name} has no bytes for; replace it, or use recoded with a charset that has.`,
  );
}

const longestShown = 20;

const shown = (text: string): string => JSON.stringify(text.slice(0, longestShown));
