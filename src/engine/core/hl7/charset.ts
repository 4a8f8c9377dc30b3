import { longestShort, sameBytes } from "./bytes.js";

/** How bytes and text become each other. The pure core knows UTF-8; src/engine/charset.ts knows the others. */
export interface Charset {
  readonly name: string;
  /** Never throws: what does not fit becomes U+FFFD. */
  decode(bytes: Uint8Array): string;
  /** Never throws: whoever must know whether all of it fits uses `encodeExactly`. */
  encode(text: string): Uint8Array;
  /**
   * Where characters of several bytes may hold the byte of a separator: as many bytes, with those characters blotted out by
   * 0x80, so that a separator found there is one.
   */
  readonly shield?: (bytes: Uint8Array) => Uint8Array;
  /** What MSH-18 says, where nobody knows that charset and this one is used in its place. */
  readonly standsInFor?: string;
}

export type CharsetChoice = (declared: string) => Charset;

const replacement = "\uFFFD";
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

export const utf8: Charset = {
  name: "UTF-8",
  decode: (bytes) => shortAscii(bytes) ?? decoder.decode(bytes),
  encode: (text) => encoder.encode(text),
};

/** Most values are short and ASCII, and a call of the decoder costs more than they do. */
function shortAscii(bytes: Uint8Array): string | null {
  if (bytes.length > longestShort) return null;
  let text = "";
  for (const byte of bytes) {
    if (byte >= 0x80) return null;
    text += String.fromCharCode(byte);
  }
  return text;
}

export const scannable = (charset: Charset, bytes: Uint8Array): Uint8Array => charset.shield?.(bytes) ?? bytes;

export function fitsCharset(charset: Charset, bytes: Uint8Array): boolean {
  const text = charset.decode(bytes);
  return !text.includes(replacement) || sameBytes(charset.encode(text), bytes);
}

export type Encoded =
  | { readonly kind: "encoded"; readonly bytes: Uint8Array }
  | { readonly kind: "unfit"; readonly character: string };

/** The bytes of the whole text, or the first character that the charset has none for. */
export function encodeExactly(charset: Charset, text: string): Encoded {
  const bytes = charset.encode(text);
  if (charset.decode(bytes) === text) return { kind: "encoded", bytes };
  for (const character of text) {
    if (charset.decode(charset.encode(character)) !== character) return { kind: "unfit", character };
  }
  return { kind: "unfit", character: text };
}
