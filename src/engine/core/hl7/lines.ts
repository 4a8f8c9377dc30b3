import { HoldfastError } from "../../../errors.js";
import { carriageReturn, lineFeed, noBytes } from "./bytes.js";

/** A segment's bytes and what ends it, both as they came. */
export interface Line {
  readonly body: Uint8Array;
  readonly end: Uint8Array;
}

/** A message of nothing but line ends would take a hundred times its size. No message has so many segments. */
const mostLines = 1_000_000;

/** All lines of a message. Throws where there are more than any message has. */
export function splitLines(bytes: Uint8Array): readonly Line[] {
  const lines = firstLines(bytes, mostLines + 1);
  if (lines.length <= mostLines) return lines;
  throw new HoldfastError("INVALID_REQUEST", `The message has more than ${mostLines} lines, and is not taken apart.`);
}

/**
 * So many lines at most. A line ends with CR or CRLF. Where the first line ends with a bare LF, so may all others; else an LF
 * that follows no CR is data, as some senders have it in their texts.
 */
export function firstLines(bytes: Uint8Array, most: number): readonly Line[] {
  const lines: Line[] = [];
  const firstReturn = bytes.indexOf(carriageReturn);
  const head = firstReturn < 0 ? bytes : bytes.subarray(0, firstReturn);
  const firstFeed = head.indexOf(lineFeed);
  let nextReturn = firstReturn < 0 ? bytes.length : firstReturn;
  let nextFeed = firstFeed < 0 ? bytes.length : firstFeed;
  let from = 0;
  while (from < bytes.length && lines.length < most) {
    const at = Math.min(nextReturn, nextFeed);
    const end = endAt(bytes, at);
    lines.push({ body: at === from ? noBytes : bytes.subarray(from, at), end });
    from = at + end.length;
    if (nextReturn < from) nextReturn = nextOf(bytes, carriageReturn, from);
    if (nextFeed < from) nextFeed = nextOf(bytes, lineFeed, from);
  }
  return lines;
}

const ends = {
  return: Uint8Array.of(carriageReturn),
  feed: Uint8Array.of(lineFeed),
  both: Uint8Array.of(carriageReturn, lineFeed),
};

function endAt(bytes: Uint8Array, at: number): Uint8Array {
  if (at >= bytes.length) return noBytes;
  if (bytes[at] === lineFeed) return ends.feed;
  return bytes[at + 1] === lineFeed ? ends.both : ends.return;
}

function nextOf(bytes: Uint8Array, byte: number, from: number): number {
  const at = bytes.indexOf(byte, from);
  return at < 0 ? bytes.length : at;
}
