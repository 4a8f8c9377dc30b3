import { invariant } from "../../../errors.js";
import type { Framed, FrameStep, Framing } from "./framing.js";
import { StreamReader } from "./stream-reader.js";

export interface DelimiterOptions {
  readonly delimiter: Uint8Array;
  /** Whether the delimiter is part of the body. */
  readonly keep: boolean;
}

/** Bodies that end with a delimiter of one byte or several. The frame ends at the first place where the delimiter is whole. */
export function delimiterFraming({ delimiter, keep }: DelimiterOptions): Framing {
  invariant(delimiter.length > 0, "a delimiter has at least one byte");
  const borders = bordersOf(delimiter);
  return {
    createReader: ({ maxFrameBytes }) => new DelimiterReader(maxFrameBytes, delimiter, borders, keep),
    frame: (body) => frameDelimited(body, { delimiter, keep }, borders),
  };
}

function frameDelimited(body: Uint8Array, { delimiter, keep }: DelimiterOptions, borders: readonly number[]): Framed {
  const ended = keep && endsWith(body, delimiter);
  const bytes = new Uint8Array(ended ? body.length : body.length + delimiter.length);
  bytes.set(body);
  if (!ended) bytes.set(delimiter, body.length);
  // Looked for in the whole, because the end of the body and the beginning of the delimiter may be a delimiter too.
  const end = findEnd(bytes, 0, { matched: 0 }, delimiter, borders) ?? bytes.length;
  if (end === bytes.length) return { kind: "framed", bytes };
  const reason = `its bytes at ${end - delimiter.length} are the delimiter, which would end the frame in the middle of the message`;
  return { kind: "unframeable", reason };
}

class DelimiterReader extends StreamReader {
  private readonly delimiter: Uint8Array;
  private readonly borders: readonly number[];
  private readonly keep: boolean;
  /** How many bytes of the delimiter the bytes so far end with. */
  private readonly search = { matched: 0 };

  constructor(maxFrameBytes: number, delimiter: Uint8Array, borders: readonly number[], keep: boolean) {
    super(maxFrameBytes);
    this.delimiter = delimiter;
    this.borders = borders;
    this.keep = keep;
  }

  get begun(): boolean {
    return this.gathered.length > 0;
  }

  protected read(): FrameStep {
    const { chunk, at: start, delimiter } = this;
    const end = findEnd(chunk, start, this.search, delimiter, this.borders);
    const length = this.gathered.length + (end ?? chunk.length) - start;
    const unended = end === null ? this.search.matched : delimiter.length;
    if (length - unended > this.maxFrameBytes) return this.breakTooLong(start);
    if (end === null) {
      this.gathered.append(chunk, start);
      return this.more();
    }
    this.at = end;
    this.search.matched = 0;
    const trim = this.keep ? 0 : delimiter.length;
    if (this.gathered.length === 0) {
      return { kind: "frame", body: new Uint8Array(chunk.subarray(start, end - trim)) };
    }
    this.gathered.append(chunk, start, end);
    return { kind: "frame", body: this.gathered.take(trim) };
  }
}

/**
 * Behind the first delimiter, or null. Knuth, Morris and Pratt's way, which never goes back, so that a delimiter may lie across
 * any number of chunks: `search` is what it remembers of those before.
 */
function findEnd(
  bytes: Uint8Array,
  from: number,
  search: { matched: number },
  delimiter: Uint8Array,
  borders: readonly number[],
): number | null {
  const first = delimiter[0] as number;
  let { matched } = search;
  let at = from;
  while (at < bytes.length) {
    if (matched === 0) {
      const found = bytes.indexOf(first, at);
      if (found === -1) break;
      at = found;
    }
    while (matched > 0 && bytes[at] !== delimiter[matched]) matched = borders[matched - 1] ?? 0;
    if (bytes[at] === delimiter[matched]) matched += 1;
    at += 1;
    if (matched === delimiter.length) {
      search.matched = matched;
      return at;
    }
  }
  search.matched = matched;
  return null;
}

/** For each beginning of the delimiter the length of its longest true part that it both begins and ends with. */
function bordersOf(delimiter: Uint8Array): readonly number[] {
  const borders = [0];
  let length = 0;
  for (let at = 1; at < delimiter.length; at += 1) {
    while (length > 0 && delimiter[at] !== delimiter[length]) length = borders[length - 1] ?? 0;
    if (delimiter[at] === delimiter[length]) length += 1;
    borders.push(length);
  }
  return borders;
}

function endsWith(body: Uint8Array, delimiter: Uint8Array): boolean {
  const start = body.length - delimiter.length;
  return start >= 0 && delimiter.every((byte, at) => body[start + at] === byte);
}
