import { carriageReturn, joined } from "./bytes.js";
import { type Line, splitLines } from "./lines.js";
import type { SegmentPath } from "./path.js";
import { Hl7Segment, type Syntax } from "./segment.js";
import { segmentName } from "./separators.js";

/** Where the segments of each name stand among the lines. */
type Index = ReadonlyMap<string, readonly number[]>;

interface Known {
  readonly lead: Uint8Array;
  readonly lines?: readonly Line[];
  readonly bytes?: Uint8Array;
  readonly index?: Index;
}

const usualEnd = Uint8Array.of(carriageReturn);

/**
 * The lines of a message, most of which are segments; lines that are none are kept among them. It never changes: what changes it
 * answers a new list, which shares all lines but the one in question. Split when first asked for.
 */
export class SegmentList {
  readonly syntax: Syntax;
  readonly #lead: Uint8Array;
  #lines: readonly Line[] | undefined;
  #bytes: Uint8Array | undefined;
  #index: Index | undefined;

  private constructor(syntax: Syntax, { lead, lines, bytes, index }: Known) {
    this.syntax = syntax;
    this.#lead = lead;
    this.#lines = lines;
    this.#bytes = bytes;
    this.#index = index;
  }

  /** What comes before `begin` (blank lines, a byte order mark) is kept in front. */
  static of(bytes: Uint8Array, begin: number, syntax: Syntax): SegmentList {
    return new SegmentList(syntax, { lead: bytes.subarray(0, begin), bytes });
  }

  get lines(): readonly Line[] {
    this.#lines ??= splitLines(this.toBytes().subarray(this.#lead.length));
    return this.#lines;
  }

  toBytes(): Uint8Array {
    this.#bytes ??= joined([this.#lead, ...this.lines.flatMap(({ body, end }) => [body, end])]);
    return this.#bytes;
  }

  /** Among all lines; null where there is no such segment. Without a number it is the first one. */
  lineOf({ segment, number }: SegmentPath): number | null {
    return this.linesOf(segment)[(number ?? 1) - 1] ?? null;
  }

  linesOf(name: string): readonly number[] {
    this.#index ??= indexOf(this.lines, this.syntax);
    return this.#index.get(name) ?? [];
  }

  segmentAt({ segment, number }: SegmentPath): Hl7Segment | null {
    const line = this.lines[this.lineOf({ segment, number }) ?? -1];
    return line === undefined ? null : new Hl7Segment(segment, number ?? 1, line.body, this.syntax);
  }

  segments(): readonly Hl7Segment[] {
    const counts = new Map<string, number>();
    return this.lines.flatMap(({ body }) => {
      const name = segmentName(body, this.syntax.separators);
      if (name === null) return [];
      const number = (counts.get(name) ?? 0) + 1;
      counts.set(name, number);
      return new Hl7Segment(name, number, body, this.syntax);
    });
  }

  segmentsOf(name: string): readonly Hl7Segment[] {
    return this.linesOf(name).flatMap((at, before) => {
      const line = this.lines[at];
      return line === undefined ? [] : new Hl7Segment(name, before + 1, line.body, this.syntax);
    });
  }

  /** With another body for a line, whose segment keeps its name. */
  withBody(at: number, body: Uint8Array): SegmentList {
    const end = this.lines[at]?.end ?? usualEnd;
    const lines = this.lines.with(at, { body, end });
    return this.#changed({ lines, ...(this.#index === undefined ? {} : { index: this.#index }) });
  }

  /** With every body made anew for another syntax. */
  recast(syntax: Syntax, body: (old: Uint8Array) => Uint8Array): SegmentList {
    const lines = this.lines.map((line) => ({ body: body(line.body), end: line.end }));
    return new SegmentList(syntax, { lead: this.#lead, lines });
  }

  /** With a segment more, that ends as the first one does. The message's last line ends, or does not, as before. */
  withInserted(at: number, body: Uint8Array): SegmentList {
    const [first] = this.lines;
    const end = first === undefined || first.end.length === 0 ? usualEnd : first.end;
    const before = this.lines.slice(0, at);
    const last = before.at(-1);
    if (last === undefined || last.end.length > 0) {
      return this.#changed({ lines: [...before, { body, end }, ...this.lines.slice(at)] });
    }
    return this.#changed({ lines: [...before.slice(0, -1), { body: last.body, end }, { body, end: last.end }] });
  }

  without(places: readonly number[]): SegmentList {
    const gone = new Set(places);
    return this.#changed({ lines: this.lines.filter((_, at) => !gone.has(at)) });
  }

  #changed(known: Omit<Known, "lead">): SegmentList {
    return new SegmentList(this.syntax, { lead: this.#lead, ...known });
  }
}

function indexOf(lines: readonly Line[], { separators }: Syntax): Index {
  const index = new Map<string, number[]>();
  for (const [at, { body }] of lines.entries()) {
    const name = segmentName(body, separators);
    if (name === null) continue;
    const places = index.get(name);
    if (places === undefined) index.set(name, [at]);
    else places.push(at);
  }
  return index;
}
