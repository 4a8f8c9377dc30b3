import type { Charset } from "./charset.js";
import type { Separators } from "./separators.js";
import { TextBuilder } from "./text-builder.js";

/** What stands between two escape characters for each separator. */
const letters = {
  field: "F",
  component: "S",
  subcomponent: "T",
  repetition: "R",
  escape: "E",
  truncation: "P",
} as const satisfies Record<keyof Separators, string>;

const separatorNames = Object.keys(letters) as readonly (keyof Separators)[];

/** Sequences of the standard that say how a text looks, or belong to one installation: no text stands for them. */
const keptSequence = /^(?:H|N|P|\.[a-z]{2}[+-]?\d{0,4}|C[0-9A-Fa-f]{4}|M[0-9A-Fa-f]{4,6})$/;

/**
 * The text that a written value stands for. `\.br\` is a line feed. Sequences that stand for no text stay as they are written, and
 * so does an escape character that begins none.
 */
export function unescapeText(written: string, separators: Separators, charset: Charset): string {
  const mark = separators.escape;
  if (mark === "" || !written.includes(mark)) return written;
  const built = new TextBuilder();
  let from = 0;
  let at = 0;
  for (;;) {
    const begin = written.indexOf(mark, at);
    const end = begin < 0 ? -1 : written.indexOf(mark, begin + 1);
    if (end < 0) break;
    const sequence = written.slice(begin + 1, end);
    const text = textOf(sequence, separators, charset);
    if (text !== null) {
      built.add(written.slice(from, begin));
      built.add(text);
      from = end + 1;
    }
    // An escape character that nobody escaped is passed over alone: the next one may begin a sequence.
    at = text !== null || isKept(sequence) ? end + 1 : begin + 1;
  }
  built.add(written.slice(from));
  return built.text();
}

const isKept = (sequence: string): boolean =>
  sequence !== "" && (sequence.startsWith("Z") || keptSequence.test(sequence));

function textOf(sequence: string, separators: Separators, charset: Charset): string | null {
  if (sequence === "") return null;
  if (sequence === ".br") return "\n";
  if (sequence.startsWith("X")) {
    const bytes = bytesOfHex(sequence.slice(1));
    return bytes === null ? null : charset.decode(bytes);
  }
  const name = separatorNames.find((each) => letters[each] === sequence);
  return name === undefined || separators[name] === "" ? null : separators[name];
}

/** By hand, since whole documents come this way, and a regular expression keeps a way back for each of their bytes. */
function bytesOfHex(digits: string): Uint8Array | null {
  if (digits === "" || digits.length % 2 !== 0) return null;
  const bytes = new Uint8Array(digits.length / 2);
  for (let at = 0; at < bytes.length; at++) {
    const high = hexDigit(digits.charCodeAt(at * 2));
    const low = hexDigit(digits.charCodeAt(at * 2 + 1));
    if (high < 0 || low < 0) return null;
    bytes[at] = high * 16 + low;
  }
  return bytes;
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

export type Escaped =
  | { readonly kind: "escaped"; readonly written: string }
  /** The message has no escape character, and this one cannot be written without. */
  | { readonly kind: "inexpressible"; readonly character: string };

/** How a text is written so that no separator, line end or frame character stands in it. */
export function escapeText(text: string, separators: Separators): Escaped {
  const sequences = sequencesOf(separators);
  const built = new TextBuilder();
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const sequence = code < sequences.length ? sequences[code] : undefined;
    if (sequence === undefined) continue;
    if (separators.escape === "") return { kind: "inexpressible", character: text.charAt(at) };
    built.add(text.slice(from, at));
    built.add(sequence);
    from = at + 1;
  }
  built.add(text.slice(from));
  return { kind: "escaped", written: built.text() };
}

const tab = 0x09;
const lineFeed = 0x0a;
const knownSequences = new WeakMap<Separators, readonly (string | undefined)[]>();

/** By character code, up to the last of ASCII. */
function sequencesOf(separators: Separators): readonly (string | undefined)[] {
  const known = knownSequences.get(separators);
  if (known !== undefined) return known;
  const marked = (sequence: string): string => `${separators.escape}${sequence}${separators.escape}`;
  const sequences = Array.from<string | undefined>({ length: 0x80 });
  for (let code = 0; code < 0x20; code++) {
    if (code !== tab) sequences[code] = marked(`X${code.toString(16).toUpperCase().padStart(2, "0")}`);
  }
  // A full stop that separates something must not stand in a sequence.
  if (!Object.values(separators).includes(".")) sequences[lineFeed] = marked(".br");
  for (const name of separatorNames) {
    const separator: string = separators[name];
    if (separator !== "") sequences[separator.charCodeAt(0)] = marked(letters[name]);
  }
  knownSequences.set(separators, sequences);
  return sequences;
}
