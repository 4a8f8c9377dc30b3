const smallestBytes = 1_024;
const kept = 65_536;

/**
 * The bytes of a frame that came in several chunks. One buffer that doubles: chunks of one byte cost neither an object each
 * nor a copy of everything before them, and at most twice the gathered bytes are held.
 */
export class GatheredBytes {
  private readonly usualLimit: number;
  private buffer = new Uint8Array(0);
  private used = 0;

  /** It does not double beyond the limit. */
  constructor(usualLimit: number) {
    this.usualLimit = usualLimit;
  }

  get length(): number {
    return this.used;
  }

  /** How many bytes of memory there are for them. */
  get capacity(): number {
    return this.buffer.length;
  }

  append(chunk: Uint8Array, from = 0, to = chunk.length): void {
    const length = this.used + to - from;
    if (length > this.buffer.length) this.grow(length);
    this.buffer.set(chunk.subarray(from, to), this.used);
    this.used = length;
  }

  appendByte(byte: number): void {
    if (this.used === this.buffer.length) this.grow(this.used + 1);
    this.buffer[this.used] = byte;
    this.used += 1;
  }

  /** The first bytes, for a look at them. */
  peek(length: number): Uint8Array {
    return this.buffer.subarray(0, Math.min(length, this.used));
  }

  /** All but the last `trim` bytes, and begins anew. */
  take(trim = 0): Uint8Array {
    const length = this.used - trim;
    this.used = 0;
    if (this.buffer.length <= kept) return this.buffer.slice(0, length);
    // A large buffer is given away rather than copied and kept: between two frames nothing is held.
    const whole = this.buffer.subarray(0, length);
    this.buffer = new Uint8Array(0);
    return whole;
  }

  private grow(length: number): void {
    const ample = Math.max(this.buffer.length * 2, smallestBytes);
    const grown = new Uint8Array(Math.max(length, Math.min(ample, this.usualLimit)));
    grown.set(this.buffer.subarray(0, this.used));
    this.buffer = grown;
  }
}
