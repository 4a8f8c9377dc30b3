import { beginsWith, byteText, carriageReturn, lineFeed } from "./bytes.js";
import { byteOrderMark } from "./header.js";
import { readSeparators } from "./separators.js";

export interface BatchPart {
  /** Envelope: FHS, BHS, BTS, FTS. Stray: lines outside of any message, which nobody should lose. */
  readonly kind: "message" | "envelope" | "stray";
  /** As they came. All parts in a row are the whole file, unless there is nothing in it but blank lines. */
  readonly bytes: Uint8Array;
}

export interface BatchRead {
  readonly parts: readonly BatchPart[];
  /** One line each: counts that are not met, trailers that are missing. The messages are there all the same. */
  readonly problems: readonly string[];
}

/**
 * The messages of a file, in order, with an envelope around them or without. A part begins at a line that begins with its segment,
 * whichever way the line before it ends. Never throws; each message may yet turn out to be malformed.
 */
export function readBatch(bytes: Uint8Array): BatchRead {
  const envelope = new Envelope();
  const parts: BatchPart[] = [];
  let kind: BatchPart["kind"] | null = null;
  let from = 0;
  const mark = beginsWith(bytes, byteOrderMark) ? byteOrderMark.length : 0;
  for (const { begin, end } of lineSpans(bytes, mark)) {
    const next = begin === end ? null : envelope.meet(bytes.subarray(begin, end));
    if (next === null || (next === "stray" && (kind === "message" || kind === "stray"))) continue;
    if (kind !== null) {
      parts.push({ kind, bytes: bytes.subarray(from, begin) });
      from = begin;
    }
    kind = next;
  }
  if (kind !== null) parts.push({ kind, bytes: bytes.subarray(from) });
  return { parts, problems: envelope.finish() };
}

/** Lines by any line end, each without it. */
function* lineSpans(bytes: Uint8Array, from: number): Generator<{ readonly begin: number; readonly end: number }> {
  let nextReturn = -1;
  let nextFeed = -1;
  for (let begin = from; begin < bytes.length; ) {
    if (nextReturn < begin) nextReturn = placeOf(bytes, carriageReturn, begin);
    if (nextFeed < begin) nextFeed = placeOf(bytes, lineFeed, begin);
    const end = Math.min(nextReturn, nextFeed);
    yield { begin, end };
    begin = end + 1;
  }
}

function placeOf(bytes: Uint8Array, byte: number, from: number): number {
  const at = bytes.indexOf(byte, from);
  return at < 0 ? bytes.length : at;
}

const longestSeparators = 10;
const longestCount = 12;

/** What the envelope says, against what comes. */
class Envelope {
  #field = "|";
  #batches = 0;
  #messages = 0;
  #inFile = false;
  #inBatch = false;
  readonly #problems: string[] = [];

  /** What a line begins. */
  meet(line: Uint8Array): BatchPart["kind"] {
    const name = byteText(line.subarray(0, 3));
    switch (name) {
      case "MSH":
        if (!this.#statesSeparators(line)) return "stray";
        this.#messages++;
        return "message";
      case "FHS":
      case "BHS":
        if (!this.#statesSeparators(line)) return "stray";
        if (name === "FHS") this.#openFile();
        else this.#openBatch();
        return "envelope";
      case "BTS":
      case "FTS":
        if (line.length > 3 && !beginsWith(line, this.#field, 3)) return "stray";
        if (name === "BTS") this.#closeBatch(this.#firstField(line));
        else this.#closeFile(this.#firstField(line));
        return "envelope";
      default:
        return "stray";
    }
  }

  finish(): readonly string[] {
    this.#endBatch();
    this.#endFile();
    return this.#problems;
  }

  /** The separator in use will do too, so that a message whose others are wrong is one all the same, and found malformed. */
  #statesSeparators(line: Uint8Array): boolean {
    const found = readSeparators(line.subarray(0, 3 + longestSeparators));
    if (found.kind === "read") this.#field = found.separators.field;
    return found.kind === "read" || beginsWith(line, this.#field, 3);
  }

  #openFile(): void {
    this.#endBatch();
    this.#endFile();
    this.#inFile = true;
    this.#batches = 0;
  }

  #openBatch(): void {
    this.#endBatch();
    this.#inBatch = true;
    this.#batches++;
    this.#messages = 0;
  }

  #closeBatch(said: string): void {
    if (!this.#inBatch) this.#problems.push("There is a BTS without a BHS before it.");
    else this.#compare("BTS-1", said, this.#messages, "messages");
    this.#inBatch = false;
  }

  #closeFile(said: string): void {
    this.#endBatch();
    if (!this.#inFile) this.#problems.push("There is an FTS without an FHS before it.");
    else this.#compare("FTS-1", said, this.#batches, "batches");
    this.#inFile = false;
  }

  #endBatch(): void {
    if (this.#inBatch) this.#problems.push("A BHS has no BTS: the file may have been cut off.");
    this.#inBatch = false;
  }

  #endFile(): void {
    if (this.#inFile) this.#problems.push("The FHS has no FTS: the file may have been cut off.");
    this.#inFile = false;
  }

  #compare(where: string, said: string, there: number, what: string): void {
    if (said === "" || Number(said) === there) return;
    this.#problems.push(`${where} says ${JSON.stringify(said)}, but there are ${there} ${what}.`);
  }

  #firstField(line: Uint8Array): string {
    return (
      byteText(line.subarray(4, 4 + longestCount))
        .split(this.#field, 1)[0]
        ?.trim() ?? ""
    );
  }
}
