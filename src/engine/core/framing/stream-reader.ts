import { invariant } from "../../../errors.js";
import type { BrokenStream, FrameReader, FrameStep } from "./framing.js";
import { GatheredBytes } from "./gathered-bytes.js";

const nothing = new Uint8Array(0);
const headBytes = 8_192;

/** What every reader of frames has: the chunk it is at, the bytes of the frame from the chunks before, and its end. */
export abstract class StreamReader implements FrameReader {
  skipped = 0;
  protected readonly maxFrameBytes: number;
  protected readonly gathered: GatheredBytes;
  protected chunk: Uint8Array = nothing;
  /** The first byte of the chunk that has not been looked at. */
  protected at = 0;
  private broken: BrokenStream | null = null;

  constructor(maxFrameBytes: number) {
    this.maxFrameBytes = maxFrameBytes;
    this.gathered = new GatheredBytes(maxFrameBytes);
  }

  abstract readonly begun: boolean;

  /** Reads on in the chunk. It is not asked once the stream is broken. */
  protected abstract read(): FrameStep;

  get isEmpty(): boolean {
    return this.at === this.chunk.length;
  }

  get held(): number {
    return this.gathered.capacity;
  }

  head(): Uint8Array {
    return new Uint8Array(this.gathered.peek(headBytes));
  }

  discard(): void {
    this.break("it was given up");
  }

  push(chunk: Uint8Array): void {
    invariant(this.isEmpty, "a frame reader is given bytes only when it is empty");
    this.chunk = chunk;
    this.at = 0;
  }

  next(): FrameStep {
    return this.broken ?? this.read();
  }

  /** All of the chunk has been read, so it need not be held. */
  protected more(): FrameStep {
    this.chunk = nothing;
    this.at = 0;
    return { kind: "more" };
  }

  protected break(reason: string, head: Uint8Array | null = null): BrokenStream {
    this.broken = { kind: "broken", reason, head };
    this.gathered.take();
    this.more();
    return this.broken;
  }

  /** The frame is too long; what is there of it in the chunk begins at `start`. */
  protected breakTooLong(start: number, length?: number): BrokenStream {
    const lacking = Math.max(0, headBytes - this.gathered.length);
    this.gathered.append(this.chunk, start, Math.min(this.chunk.length, start + lacking));
    const announced = length === undefined ? "" : `${length} bytes and so `;
    return this.break(`the frame is ${announced}longer than ${this.maxFrameBytes} bytes`, this.head());
  }
}
