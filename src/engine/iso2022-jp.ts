import iconv from "iconv-lite";
import { asciiBytes, beginsWith } from "./core/hl7/bytes.js";
import type { Charset } from "./core/hl7/charset.js";

/**
 * Japanese in seven bits, as HL7 messages of Japan come: escape sequences lead from ASCII into sets of characters of two bytes
 * and back. It is read and written through EUC-JP, which holds the same sets side by side.
 */
interface CharacterSet {
  /** The sequences that lead into it, the one to be written first. */
  readonly announced: readonly string[];
  readonly width: 1 | 2;
  /** What marks it in EUC-JP, before bytes with their high bit set. */
  readonly euc: readonly number[];
}

const ascii: CharacterSet = { announced: ["\x1b(B", "\x1b(J"], width: 1, euc: [] };
const kanji: CharacterSet = { announced: ["\x1b$B", "\x1b$@"], width: 2, euc: [] };
const moreKanji: CharacterSet = { announced: ["\x1b$(D"], width: 2, euc: [0x8f] };
const katakana: CharacterSet = { announced: ["\x1b(I"], width: 1, euc: [0x8e] };
const sets = [ascii, kanji, moreKanji, katakana];

const escapeByte = 0x1b;
const blot = 0x80;
/** No byte of EUC-JP, so it becomes U+FFFD. */
const unfit = 0xff;

interface Run {
  readonly set: CharacterSet;
  /** Where its announcement begins, where its characters do, and where they end. */
  readonly from: number;
  readonly begin: number;
  readonly end: number;
}

/** Stretches of one set each. A line begins in ASCII, whatever the one before it ended in. */
function* runsOf(bytes: Uint8Array): Generator<Run> {
  let run = { set: ascii, from: 0, begin: 0 };
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === 0x0d || byte === 0x0a) {
      if (run.set === ascii) continue;
      yield { ...run, end: at };
      run = { set: ascii, from: at, begin: at };
    }
    if (byte !== escapeByte) continue;
    const found = announcement(bytes, at);
    if (found === null) continue;
    yield { ...run, end: at };
    run = { set: found.set, from: at, begin: at + found.length };
    at += found.length - 1;
  }
  yield { ...run, end: bytes.length };
}

function announcement(bytes: Uint8Array, at: number): { readonly set: CharacterSet; readonly length: number } | null {
  for (const set of sets) {
    const found = set.announced.find((text) => beginsWith(bytes, text, at));
    if (found !== undefined) return { set, length: found.length };
  }
  return null;
}

function decode(bytes: Uint8Array): string {
  const euc: number[] = [];
  for (const { set, begin, end } of runsOf(bytes)) {
    for (let at = begin; at < end; at += set.width) {
      const character = bytes.subarray(at, Math.min(at + set.width, end));
      const isWhole = character.length === set.width && character.every((byte) => byte < 0x80);
      if (!isWhole) euc.push(unfit);
      else if (set === ascii) euc.push(...character);
      else euc.push(...set.euc, ...character.map((byte) => byte | 0x80));
    }
  }
  return iconv.decode(Uint8Array.from(euc), "eucjp");
}

function encode(text: string): Uint8Array {
  const bytes: number[] = [];
  let current = ascii;
  const enter = (set: CharacterSet): void => {
    if (set !== current) bytes.push(...asciiBytes(set.announced[0] ?? ""));
    current = set;
  };
  for (const character of text) {
    const euc = iconv.encode(character, "eucjp");
    enter(setOf(euc));
    for (const byte of euc.subarray(current.euc.length)) bytes.push(byte & 0x7f);
  }
  enter(ascii);
  return Uint8Array.from(bytes);
}

function setOf(euc: Uint8Array): CharacterSet {
  const [first = 0] = euc;
  if (first < 0x80) return ascii;
  if (first === 0x8e) return katakana;
  return first === 0x8f ? moreKanji : kanji;
}

/** The announcements too: they hold characters that might be separators. */
function shield(bytes: Uint8Array): Uint8Array {
  const shielded = Uint8Array.from(bytes);
  for (const { set, from, begin, end } of runsOf(bytes)) shielded.fill(blot, from, set === ascii ? begin : end);
  return shielded;
}

export const iso2022Jp: Charset = { name: "ISO-2022-JP", decode, encode, shield };
