import { asciiBytes, joined } from "./bytes.js";
import { type Charset, utf8 } from "./charset.js";
import { replaced, stepsTo } from "./element.js";
import { flawsOf, type Hl7Flaw } from "./flaws.js";
import { type HeaderOptions, type Hl7Header, headerBegin, headerOf, peekHeader } from "./header.js";
import { type MessagePath, parsePath, parseSegmentPath } from "./path.js";
import { recodedLine } from "./recoding.js";
import type { Hl7Segment } from "./segment.js";
import { SegmentList } from "./segment-list.js";
import { segmentName } from "./separators.js";
import { checkChangeable, checkedName, checkReachable, checkWithin, invalid, rawBytes, valueBytes } from "./writing.js";

/** What became of an attempt to read bytes as HL7. */
export type Hl7Read =
  | { readonly kind: "read"; readonly message: Hl7Message }
  | {
      readonly kind: "malformed";
      /** One line. */
      readonly reason: string;
      /** What could be made out all the same. */
      readonly header: Hl7Header | null;
      /** Those that were given. */
      readonly bytes: Uint8Array;
    };

/** Where a segment is added: behind all others if nothing is said. `OBX` is the first of its name, `OBX[3]` the third. */
export type SegmentPlace = { readonly before: string } | { readonly after: string };

/**
 * An HL7 v2 message that keeps its bytes. What was not changed is written as it came, down to line ends, escape sequences
 * and bytes that do not fit the charset; a change touches its own place only and answers a new message. It reads from the bytes
 * it was given, which must not be changed afterwards, and looks at no more of them than it is asked for.
 */
export class Hl7Message {
  readonly #list: SegmentList;
  #header: Hl7Header | null;

  private constructor(list: SegmentList, header: Hl7Header | null = null) {
    this.#list = list;
    this.#header = header;
  }

  /** Never throws, whatever the bytes. */
  static read(bytes: Uint8Array, { charsetOf = () => utf8 }: HeaderOptions = {}): Hl7Read {
    const peeked = peekHeader(bytes, { charsetOf });
    if (peeked.kind === "malformed") return { ...peeked, bytes };
    const { header } = peeked;
    const syntax = { separators: header.separators, charset: charsetOf(header.charset) };
    return { kind: "read", message: new Hl7Message(SegmentList.of(bytes, headerBegin(bytes), syntax), header) };
  }

  /** What MSH says. */
  get header(): Hl7Header {
    const { separators, charset } = this.#list.syntax;
    this.#header ??= headerOf(this.#list.lines[0]?.body ?? new Uint8Array(0), separators, () => charset);
    return this.#header;
  }

  /** "ADT^A01". */
  get type(): string {
    return this.header.type;
  }

  /** MSH-10. */
  get controlId(): string {
    return this.header.controlId;
  }

  /** The charset that its bytes are read in. */
  get charset(): Charset {
    return this.#list.syntax.charset;
  }

  /** The text at `PID-3.1`, `PID-3[2].1.2`, `OBX[3]-5`; "" where nothing is there. A field alone is all of its repetitions. */
  get(path: string): string {
    const parsed = parsePath(path);
    return this.#list.segmentAt(parsed)?.getAt(parsed.place) ?? "";
  }

  /** As `get`, with the escape sequences as they are written. */
  getRaw(path: string): string {
    const parsed = parsePath(path);
    return this.#list.segmentAt(parsed)?.getRawAt(parsed.place) ?? "";
  }

  /** The texts at the path in each segment and repetition that it does not single out; none of a field that is empty. */
  getAll(path: string): readonly string[] {
    const { segment, number, place } = parsePath(path);
    return this.#segmentsAt(segment, number).flatMap((each) => each.getAllAt(place));
  }

  /** The segments of a name, or all of them, in order. */
  segments(name?: string): readonly Hl7Segment[] {
    if (name === undefined) return this.#list.segments();
    const { segment, number } = parseSegmentPath(name);
    return this.#segmentsAt(segment, number);
  }

  /**
   * The message with this text at the path, escaped as it has to be. Empty fields and parts are added up to a place that is not
   * there yet. Null takes away what is there: repetitions behind one that goes move up, nothing else moves. Where the text is
   * there already, nothing changes.
   */
  set(path: string, value: string | null): Hl7Message {
    const parsed = parsePath(path);
    checkChangeable(parsed.segment, parsed.place, { isRaw: false });
    if (value === null) return this.#replaced(parsed, null);
    if (this.#list.segmentAt(parsed)?.getAt(parsed.place) === value) return this;
    return this.#replaced(parsed, valueBytes(value, this.#list.syntax, path));
  }

  /** As `set`, with what is written as it is: it may hold escape sequences, and separators of what lies below the path. */
  setRaw(path: string, raw: string | Uint8Array): Hl7Message {
    const parsed = parsePath(path);
    checkChangeable(parsed.segment, parsed.place, { isRaw: true });
    const bytes = rawBytes(raw, this.#list.syntax, path);
    checkWithin(bytes, parsed.place, this.#list.syntax, path);
    return this.#replaced(parsed, bytes);
  }

  /** Adds a segment. The texts are its fields from the first one, escaped as they have to be. */
  addSegment(name: string, fields: readonly string[] = [], place?: SegmentPlace): Hl7Message {
    const { syntax } = this.#list;
    const separator = asciiBytes(syntax.separators.field);
    const values = fields.map((field, at) => valueBytes(field, syntax, `${name}-${at + 1}`));
    return this.#added(
      joined([asciiBytes(checkedName(name)), ...values.flatMap((value) => [separator, value])]),
      place,
    );
  }

  /** As `addSegment`, with the whole segment as it is written: `NTE|1||text`. */
  addRawSegment(raw: string | Uint8Array, place?: SegmentPlace): Hl7Message {
    const body = rawBytes(raw, this.#list.syntax, "The segment");
    checkedName(segmentName(body, this.#list.syntax.separators) ?? "");
    return this.#added(body, place);
  }

  /** Without the segment: `NTE` is the first of its name, `NTE[2]` the second. Nothing changes where it is not there. */
  removeSegment(path: string): Hl7Message {
    const parsed = parseSegmentPath(path);
    const at = this.#list.lineOf(parsed);
    return this.#without(parsed.segment, at === null ? [] : [at]);
  }

  /** Without any segment of the name. */
  removeSegments(name: string): Hl7Message {
    const { segment, number } = parseSegmentPath(name);
    return number === null ? this.#without(segment, this.#list.linesOf(segment)) : this.removeSegment(name);
  }

  /** The same text in another charset, which MSH-18 then names. Fields whose bytes do not fit the present one stay as they are. */
  recoded(declared: string, charset: Charset): Hl7Message {
    const { syntax } = this.#list;
    const list = this.#list.recast({ ...syntax, charset }, (body) => recodedLine(body, syntax, charset));
    return new Hl7Message(list).setRaw("MSH-18", declared);
  }

  /** What is wrong that did not keep it from being read. Looks at all of it. */
  flaws(): readonly Hl7Flaw[] {
    return flawsOf(this.#list.lines, this.#list.syntax);
  }

  /** The whole message in its charset, with escape sequences and line ends as they are written. */
  text(): string {
    return this.charset.decode(this.toBytes());
  }

  /** The whole message as it is to be sent. */
  toBytes(): Uint8Array {
    return this.#list.toBytes();
  }

  #segmentsAt(segment: string, number: number | null): readonly Hl7Segment[] {
    if (number === null) return this.#list.segmentsOf(segment);
    const found = this.#list.segmentAt({ segment, number });
    return found === null ? [] : [found];
  }

  #replaced(path: MessagePath, value: Uint8Array | null): Hl7Message {
    const { segment, number, place, text } = path;
    const at = this.#list.lineOf(path);
    const found = this.#list.segmentAt(path);
    if (at === null || found === null) {
      if (value === null) return this;
      const name = number === null ? segment : `${segment}[${number}]`;
      throw invalid(`${text} cannot be set: there is no ${name}; add it with addSegment("${segment}").`);
    }
    const steps = stepsTo(place, segment, this.#list.syntax.separators);
    if (value !== null) checkReachable(steps, text);
    const body = replaced(found.toBytes(), found.scan, steps, value);
    return new Hl7Message(this.#list.withBody(at, body));
  }

  #added(body: Uint8Array, place: SegmentPlace | undefined): Hl7Message {
    const at = place === undefined ? this.#behindAll() : this.#lineAt(place);
    return new Hl7Message(this.#list.withInserted(at, body));
  }

  #behindAll(): number {
    return this.#list.lines.findLastIndex((line) => line.body.length > 0) + 1;
  }

  #lineAt(place: SegmentPlace): number {
    const [path, offset] = "before" in place ? [place.before, 0] : [place.after, 1];
    const line = this.#list.lineOf(parseSegmentPath(path));
    if (line === null) throw invalid(`There is no ${path} to add a segment ${offset === 0 ? "before" : "after"}.`);
    if (line + offset === 0) throw invalid("Nothing comes before MSH; add the segment after it.");
    return line + offset;
  }

  #without(segment: string, lines: readonly number[]): Hl7Message {
    if (lines.length === 0) return this;
    if (segment === "MSH") throw invalid("A message begins with its MSH segment, which cannot be removed.");
    return new Hl7Message(this.#list.without(lines));
  }
}
