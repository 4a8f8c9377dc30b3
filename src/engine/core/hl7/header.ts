import { beginsWith, byteText, carriageReturn, lineFeed, noBytes } from "./bytes.js";
import { type Charset, type CharsetChoice, fitsCharset, utf8 } from "./charset.js";
import { readSeparators, type Separators } from "./separators.js";

/** What the MSH segment says, as it is written there: escape sequences stay. "" is what it does not say. */
export interface Hl7Header {
  readonly separators: Separators;
  /** The first two components of MSH-9, always with "^" between them: "ADT^A01". */
  readonly type: string;
  /** MSH-10. */
  readonly controlId: string;
  /** MSH-18 with all its repetitions, always with "~" between them. */
  readonly charset: string;
  readonly sendingApplication: string;
  readonly sendingFacility: string;
  readonly receivingApplication: string;
  readonly receivingFacility: string;
  /** The first component of MSH-11: "P", "T" or "D". */
  readonly processingId: string;
  /** The first component of MSH-12: "2.5.1". */
  readonly version: string;
  /** MSH-15: when an accept acknowledgement is wanted. */
  readonly acceptAck: string;
  /** MSH-16: when an application acknowledgement is wanted. */
  readonly applicationAck: string;
  /** The bytes of MSH-1 to MSH-18 by their number; none where it says nothing. They are part of the message, and not to be changed. */
  field(number: number): Uint8Array;
}

export type PeekedHeader =
  | { readonly kind: "read"; readonly header: Hl7Header; readonly reason: null }
  /** The reason is one line. The header is what could be made out all the same, so that the sender can be answered. */
  | { readonly kind: "malformed"; readonly reason: string; readonly header: Hl7Header | null };

export interface HeaderOptions {
  /** The charset for what MSH-18 says, "" included; UTF-8 for everything if left out. */
  readonly charsetOf?: CharsetChoice;
}

/** What a message may weigh up to the end of its first segment. */
const longestHeaderBytes = 65_536;
/** Of the type and the control id, by which messages are found. The standard gives the control id 199. */
const longestIdentityBytes = 199;
const lastField = 18;
export const byteOrderMark = "\u00EF\u00BB\u00BF";

/**
 * Reads the MSH segment alone, in a time that the message's length has no part in. Never throws.
 */
export function peekHeader(bytes: Uint8Array, { charsetOf = () => utf8 }: HeaderOptions = {}): PeekedHeader {
  const begin = headerBegin(bytes);
  if (!beginsWith(bytes, "MSH", begin)) return { kind: "malformed", reason: noHeader(bytes, begin), header: null };
  const window = bytes.subarray(begin, begin + longestHeaderBytes);
  const end = lineEnd(window);
  if (end === longestHeaderBytes && bytes.length > begin + longestHeaderBytes) {
    const reason = `MSH is longer than ${longestHeaderBytes} bytes, or no line ends in it.`;
    return { kind: "malformed", reason, header: null };
  }
  const line = window.subarray(0, end);
  const found = readSeparators(line);
  if (found.kind === "malformed") return { ...found, header: null };
  const header = headerOf(line, found.separators, charsetOf);
  const reason = identityProblem(header, charsetOf(header.charset));
  return reason === null ? { kind: "read", header, reason } : { kind: "malformed", reason, header };
}

/** Blank lines and a byte order mark, which files come with, are no part of the first segment. */
export function headerBegin(bytes: Uint8Array): number {
  let at = beginsWith(bytes, byteOrderMark) ? byteOrderMark.length : 0;
  while (at < longestHeaderBytes && (bytes[at] === carriageReturn || bytes[at] === lineFeed)) at++;
  return at;
}

function lineEnd(window: Uint8Array): number {
  const atReturn = window.indexOf(carriageReturn);
  const head = atReturn < 0 ? window : window.subarray(0, atReturn);
  const atFeed = head.indexOf(lineFeed);
  return atFeed < 0 ? head.length : atFeed;
}

/** Reasons are logged and answered, and what stands there instead may be a patient's name: it is described, and never quoted. */
function noHeader(bytes: Uint8Array, begin: number): string {
  if (bytes.length === begin) return "It is empty.";
  const isWide = bytes.subarray(begin, begin + 8).includes(0);
  return `It begins with other bytes than MSH${isWide ? ", as UTF-16 and UTF-32 do, which are not read" : ""}.`;
}

export function headerOf(line: Uint8Array, separators: Separators, charsetOf: CharsetChoice): Hl7Header {
  const { fields, charset } = splitHeader(line, separators, charsetOf);
  return new ReadHeader(fields, separators, charset);
}

/** Every message is looked at several times, each time for two or three fields: what nobody asks for is not decoded. */
class ReadHeader implements Hl7Header {
  readonly separators: Separators;
  readonly type: string;
  readonly controlId: string;
  readonly charset: string;
  readonly #fields: HeaderFields;
  readonly #charset: Charset;

  constructor(fields: HeaderFields, separators: Separators, charset: Charset) {
    this.separators = separators;
    this.#fields = fields;
    this.#charset = charset;
    this.type = parts(this.text(9), separators.component).slice(0, 2).join("^");
    this.controlId = this.text(10);
    this.charset = declaredBy(fields.at(lastField), separators);
  }

  field(number: number): Uint8Array {
    return this.#fields.at(number);
  }

  get sendingApplication(): string {
    return this.text(3);
  }

  get sendingFacility(): string {
    return this.text(4);
  }

  get receivingApplication(): string {
    return this.text(5);
  }

  get receivingFacility(): string {
    return this.text(6);
  }

  get processingId(): string {
    return this.firstPart(11);
  }

  get version(): string {
    return this.firstPart(12);
  }

  get acceptAck(): string {
    return this.text(15);
  }

  get applicationAck(): string {
    return this.text(16);
  }

  private text(number: number): string {
    const field = this.#fields.at(number);
    return field.length === 0 ? "" : textOf(field, this.#charset);
  }

  private firstPart(number: number): string {
    return parts(this.text(number), this.separators.component)[0] ?? "";
  }
}

/** Bytes that do not fit are read one by one, so that two control ids that differ never look the same. */
function textOf(bytes: Uint8Array, charset: Charset): string {
  return fitsCharset(charset, bytes) ? charset.decode(bytes) : byteText(bytes);
}

const mostFalseSeparators = 8;

/**
 * A character of several bytes may hold the byte of a separator, and which charset it is stands in MSH-18, behind it. So where
 * plain splitting finds no such charset, those are tried that stand further on: the right one finds itself in its place.
 */
function splitHeader(
  line: Uint8Array,
  separators: Separators,
  charsetOf: CharsetChoice,
): { readonly fields: HeaderFields; readonly charset: Charset } {
  const plain = new HeaderFields(line, line, separators, lastField + mostFalseSeparators);
  for (let number = lastField; number < plain.count; number++) {
    const charset = charsetOf(declaredBy(plain.at(number), separators));
    if (charset.shield === undefined || charset.standsInFor !== undefined) continue;
    const fields = new HeaderFields(line, charset.shield(line), separators, lastField);
    const declared = charsetOf(declaredBy(fields.at(lastField), separators));
    if (declared.name === charset.name) return { fields, charset };
  }
  return { fields: plain, charset: charsetOf(declaredBy(plain.at(lastField), separators)) };
}

/** Where the fields of a line are: most of them nobody asks for. */
class HeaderFields {
  private readonly line: Uint8Array;
  /** Where each begins; and where the next one would. */
  private readonly begins = [0, 3];

  constructor(line: Uint8Array, scan: Uint8Array, separators: Separators, last: number) {
    this.line = line;
    const separator = separators.field.charCodeAt(0);
    let from = 4;
    for (; from <= line.length && this.begins.length <= last; ) {
      this.begins.push(from);
      const at = scan.indexOf(separator, from);
      from = (at < 0 ? line.length : at) + 1;
    }
    this.begins.push(from);
  }

  get count(): number {
    return this.begins.length - 1;
  }

  /** The first two are the segment's name and the separator itself. */
  at(number: number): Uint8Array {
    if (number < 2) return this.line.subarray(number === 0 ? 0 : 3, number === 0 ? 3 : 4);
    const from = this.begins[number];
    const next = this.begins[number + 1];
    return from === undefined || next === undefined ? noBytes : this.line.subarray(from, next - 1);
  }
}

function declaredBy(field: Uint8Array, { repetition }: Separators): string {
  return field.length === 0 ? "" : parts(byteText(field), repetition).join("~");
}

const parts = (text: string, separator: string): readonly string[] =>
  separator === "" ? [text] : text.split(separator);

const identifying = [9, 10] as const;

function identityProblem(header: Hl7Header, charset: Charset): string | null {
  for (const number of identifying) {
    const bytes = header.field(number);
    const says = `MSH-${number}`;
    if (bytes.length > longestIdentityBytes) {
      return `${says} has ${bytes.length} bytes; at most ${longestIdentityBytes} are taken.`;
    }
    if (bytes.some((byte) => byte < 0x20 || byte === 0x7f)) return `${says} holds a control character.`;
    if (!fitsCharset(charset, bytes)) return `${says} holds bytes that are not ${charset.name}.`;
  }
  return null;
}
