import { beginsWith, byteText } from "./bytes.js";

/** One ASCII character each. "" is one that the message does not have: nothing is split by it. */
export interface Separators {
  readonly field: string;
  readonly component: string;
  readonly repetition: string;
  readonly escape: string;
  readonly subcomponent: string;
  /** Since 2.7: marks a text that was cut off. */
  readonly truncation: string;
}

export const usualSeparators: Separators = Object.freeze({
  field: "|",
  component: "^",
  repetition: "~",
  escape: "\\",
  subcomponent: "&",
  truncation: "",
});

export type SeparatorsRead =
  | { readonly kind: "read"; readonly separators: Separators }
  | { readonly kind: "malformed"; readonly reason: string };

const mostEncodingCharacters = 5;
/** How nearly every message goes on behind its first three letters. */
const usualBeginning = "|^~\\&|";
const usualRead: SeparatorsRead = Object.freeze({ kind: "read", separators: usualSeparators });

/**
 * What MSH-1 and MSH-2 say. The line begins with "MSH", or "BHS" or "FHS". A reason never quotes the line, which may hold
 * anything, and reasons are logged and answered.
 */
export function readSeparators(line: Uint8Array): SeparatorsRead {
  if (beginsWith(line, usualBeginning, 3)) return usualRead;
  const name = byteText(line.subarray(0, 3));
  const field = line[3];
  if (field === undefined) return malformed(`${name}-1 is missing; it separates the fields, usually |.`);
  if (!maySeparate(field)) return malformed(`${name}-1 is nothing that can separate fields; it is usually |.`);
  const end = line.subarray(4, 5 + mostEncodingCharacters).indexOf(field);
  const characters = line.subarray(4, end < 0 ? 5 + mostEncodingCharacters : 4 + end);
  if (characters.length === 0) return malformed(`${name}-2 is empty; it names the separators, usually ^~\\&.`);
  if (characters.length > mostEncodingCharacters) {
    return malformed(`${name}-2 is longer than ${mostEncodingCharacters} separators; it is usually ^~\\&.`);
  }
  const wrong = characters.findIndex((character) => !maySeparate(character));
  if (wrong >= 0) {
    return malformed(`Character ${wrong + 1} of ${name}-2 cannot separate anything; it is usually ^~\\&.`);
  }
  if (new Set(characters).size < characters.length) {
    return malformed(`${name}-2 names a separator twice; it is usually ^~\\&.`);
  }
  const separators = separatorsOf(String.fromCharCode(field), byteText(characters));
  return { kind: "read", separators };
}

/** The same object where nearly every message has the same: what is worked out for it once need not be again. */
function separatorsOf(field: string, characters: string): Separators {
  const [component = "", repetition = "", mark = "", subcomponent = "", truncation = ""] = characters;
  const separators = { field, component, repetition, escape: mark, subcomponent, truncation };
  return isUsual(separators) ? usualSeparators : separators;
}

function isUsual(separators: Separators): boolean {
  return (Object.keys(usualSeparators) as (keyof Separators)[]).every(
    (name) => separators[name] === usualSeparators[name],
  );
}

function malformed(reason: string): SeparatorsRead {
  return { kind: "malformed", reason };
}

/**
 * Letters, digits and quotes would be found within values, other bytes than ASCII within characters; the rest ends lines (CR, LF),
 * frames (VT, FS) or texts, or announces charsets (ESC).
 */
function maySeparate(byte: number): boolean {
  return byte > 0x20 && byte < 0x7f ? !/[A-Za-z0-9"]/.test(String.fromCharCode(byte)) : otherSeparators.includes(byte);
}

/** Tab, and what ASCII has for the purpose: group, record and unit separator. */
const otherSeparators: readonly number[] = [0x09, 0x1d, 0x1e, 0x1f];

/** Segments whose first field is the separator itself, and whose second names the others. */
export const statesSeparators = (name: string): boolean => name === "MSH" || name === "BHS" || name === "FHS";

/** The name of the segment that a line holds; null where it begins with none. */
export function segmentName(line: Uint8Array, separators: Separators): string | null {
  if (line.length < 3 || (line.length > 3 && !beginsWith(line, separators.field, 3))) return null;
  const name = byteText(line.subarray(0, 3));
  return /^[A-Z][A-Z0-9]{2}$/.test(name) ? name : null;
}
