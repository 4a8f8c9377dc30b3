/**
 * Text is searched by whole words: runs of letters and digits, in whatever case. What an index keeps of a word is a hash of 42
 * bits, so that nothing can be read from it; ten of them choose its bucket.
 */

/** So many bytes of a body are looked at. What comes behind is a document that somebody has embedded. */
export const searchedBytes = 65_536;
const bucketCount = 1_024;
const hashes = 2 ** 32;

/** What a message is found by beside its words. */
export interface SearchedMessage {
  readonly connection: string;
  readonly type: string;
  readonly controlId: string;
}

/** The hashes of the words of a body, each as often as it comes. None where it is not text. */
export function wordsOf(body: Buffer): readonly number[] {
  const searched = body.length > searchedBytes ? body.subarray(0, searchedBytes) : body;
  const words = asciiWords(searched) ?? (isText(searched) ? unicodeWords(searched) : []);
  // The last one may go on behind the end.
  if (searched.length < body.length) words.pop();
  return words;
}

/** `ADT` of `ADT^A01`. */
const codeOf = (type: string): string => type.split("^", 1)[0] ?? "";

/** No word begins with a zero, so these are never mistaken for one. */
export const termsOf = {
  connection: (name: string): number => hashOf(Buffer.from(`\0connection ${name}`)),
  type: (type: string): number => hashOf(Buffer.from(type.includes("^") ? `\0type ${type}` : `\0code ${type}`)),
  controlId: (id: string): number => hashOf(Buffer.from(`\0control ${id}`)),
} as const;

export function bucketOf(term: number): number {
  return Math.floor(term / hashes);
}

/** Collects what a run of messages, whose ids lie less than 65,536 apart, is found by. */
export class WordRun {
  readonly firstId: number;
  private readonly terms = new Map<number, number[]>();

  constructor(firstId: number) {
    this.firstId = firstId;
  }

  add(id: number, message: SearchedMessage, body: Buffer | null): void {
    const place = id - this.firstId;
    const { connection, type, controlId } = message;
    this.note(place, termsOf.connection(connection));
    this.note(place, termsOf.type(codeOf(type)));
    if (type.includes("^")) this.note(place, termsOf.type(type));
    this.note(place, termsOf.controlId(controlId));
    if (body !== null) for (const word of wordsOf(body)) this.note(place, word);
  }

  private note(place: number, term: number): void {
    const places = this.terms.get(term);
    if (places === undefined) this.terms.set(term, [place]);
    else if (places[places.length - 1] !== place) places.push(place);
  }

  /**
   * For each bucket its terms: the hash in four bytes, the length of what follows in two, and the places, in two bytes each. Of
   * a word that is nearly everywhere there is a bit for each place instead, which that length is marked for.
   */
  packed(): ReadonlyMap<number, Buffer> {
    const buckets = new Map<number, Buffer[]>();
    for (const [term, places] of this.terms) {
      const bucket = bucketOf(term);
      const packed = packedTerm(term % hashes, places);
      const known = buckets.get(bucket);
      if (known === undefined) buckets.set(bucket, [packed]);
      else known.push(packed);
    }
    return new Map([...buckets].map(([bucket, terms]) => [bucket, Buffer.concat(terms)]));
  }
}

const headBytes = 6;
/** The length of bits is told from that of places by this. */
const bitsMark = 0x8000;

function packedTerm(hash: number, places: readonly number[]): Buffer {
  const bits = Math.floor((places.at(-1) ?? 0) / 8) + 1;
  const isDense = bits < 2 * places.length;
  const packed = Buffer.alloc(headBytes + (isDense ? bits : 2 * places.length));
  packed.writeUInt32LE(hash, 0);
  packed.writeUInt16LE(isDense ? bits | bitsMark : 2 * places.length, 4);
  for (let index = 0; index < places.length; index += 1) {
    const place = places[index] ?? 0;
    if (isDense) setBit(packed, headBytes + Math.floor(place / 8), place % 8);
    else packed.writeUInt16LE(place, headBytes + 2 * index);
  }
  return packed;
}

function setBit(bytes: Buffer, at: number, bit: number): void {
  bytes.writeUInt8(bytes.readUInt8(at) | (1 << bit), at);
}

/** Where a term comes in a run, in order, by what is packed of its bucket. */
export function placesIn(packed: Buffer, term: number): readonly number[] {
  const hash = term % hashes;
  for (let at = 0; at < packed.length; ) {
    const length = packed.readUInt16LE(at + 4);
    const from = at + headBytes;
    const end = from + (length % bitsMark);
    if (packed.readUInt32LE(at) === hash) {
      const bytes = packed.subarray(from, end);
      return length >= bitsMark ? placesOfBits(bytes) : placesOfList(bytes);
    }
    at = end;
  }
  return [];
}

function placesOfList(bytes: Buffer): readonly number[] {
  return Array.from({ length: bytes.length / 2 }, (_, index) => bytes.readUInt16LE(2 * index));
}

function placesOfBits(bytes: Buffer): readonly number[] {
  const places: number[] = [];
  for (const [index, byte] of bytes.entries()) {
    for (let bit = 0; byte >> bit > 0; bit += 1) if ((byte >> bit) % 2 === 1) places.push(8 * index + bit);
  }
  return places;
}

/** Tabs, ends of lines and of frames, and the escape of a charset are in texts; other controls are not. */
const textControls = new Set([0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x1b, 0x1c]);

function isText(body: Buffer): boolean {
  return body.every((byte) => byte >= 0x20 || textControls.has(byte));
}

/** What each byte means in a text of ASCII: itself in small letters, an end of a word, or that it is no such text. */
const endOfWord = 0;
const notAscii = 255;
const meanings = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x80 || (byte < 0x20 && !textControls.has(byte))) return notAscii;
  const letter = byte | 0x20;
  if (byte >= 0x30 && byte <= 0x39) return byte;
  return letter >= 0x61 && letter <= 0x7a ? letter : endOfWord;
});

/** Null where it is no text of ASCII. Every byte of every message goes through here: plain loops, and one look at each. */
function asciiWords(body: Buffer): number[] | null {
  const words: number[] = [];
  const hash = new WordHash();
  for (let at = 0; at < body.length; at += 1) {
    const meaning = meanings[body[at] ?? 0] ?? endOfWord;
    if (meaning === notAscii) return null;
    if (meaning !== endOfWord) hash.add(meaning);
    else if (hash.length > 0) words.push(hash.take());
  }
  if (hash.length > 0) words.push(hash.take());
  return words;
}

/** As UTF-8 where it is that, else as latin1, in which everything is something. */
function unicodeWords(body: Buffer): number[] {
  let text: string;
  try {
    // A character that is cut at the end is left out.
    text = new TextDecoder("utf-8", { fatal: true }).decode(body, { stream: true });
  } catch {
    text = body.toString("latin1");
  }
  const words =
    text
      .normalize("NFC")
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return words.map((word) => hashOf(Buffer.from(word)));
}

function hashOf(bytes: Buffer): number {
  const hash = new WordHash();
  for (let at = 0; at < bytes.length; at += 1) hash.add(bytes[at] ?? 0);
  return hash.take();
}

const firstOne = 0x811c9dc5;
const firstOther = 0x9747b28c;

/** Two hashes that know nothing of each other: one of 32 bits, and one that the bucket is taken from. */
class WordHash {
  length = 0;
  private one = firstOne;
  private other = firstOther;

  add(byte: number): void {
    this.length += 1;
    this.one = Math.imul(this.one ^ byte, 0x01000193);
    this.other = Math.imul((this.other ^ byte) + (this.other << 5), 0x5bd1e995);
  }

  /** The hash, and begins anew. */
  take(): number {
    const value = (mixed(this.other) % bucketCount) * hashes + mixed(this.one);
    this.length = 0;
    this.one = firstOne;
    this.other = firstOther;
    return value;
  }
}

function mixed(hash: number): number {
  const half = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  const whole = Math.imul(half ^ (half >>> 13), 0xc2b2ae35);
  return (whole ^ (whole >>> 16)) >>> 0;
}
