import type { Framed, FrameStep, Framing } from "./framing.js";
import { StreamReader } from "./stream-reader.js";

export interface LengthOptions {
  readonly bytes: 1 | 2 | 4;
  readonly endian: "big" | "little";
  /** Whether the length counts its own bytes. */
  readonly inclusive: boolean;
}

/** Bodies with their length in front of them. */
export function lengthFraming(options: LengthOptions): Framing {
  return {
    createReader: ({ maxFrameBytes }) => new LengthReader(maxFrameBytes, options),
    frame: (body) => frameWithLength(body, options),
  };
}

function frameWithLength(body: Uint8Array, { bytes: width, endian, inclusive }: LengthOptions): Framed {
  const length = body.length + (inclusive ? width : 0);
  const largest = 256 ** width - 1;
  if (length > largest) {
    return {
      kind: "unframeable",
      reason: `its length of ${length} does not fit into ${width} bytes (at most ${largest})`,
    };
  }
  const bytes = new Uint8Array(width + body.length);
  for (let at = 0; at < width; at += 1) {
    const place = endian === "big" ? width - 1 - at : at;
    bytes[at] = Math.floor(length / 256 ** place) % 256;
  }
  bytes.set(body, width);
  return { kind: "framed", bytes };
}

class LengthReader extends StreamReader {
  private readonly options: LengthOptions;
  private prefixRead = 0;
  private announced = 0;

  constructor(maxFrameBytes: number, options: LengthOptions) {
    super(maxFrameBytes);
    this.options = options;
  }

  get begun(): boolean {
    return this.prefixRead > 0;
  }

  protected read(): FrameStep {
    const { bytes: width, endian, inclusive } = this.options;
    while (this.prefixRead < width) {
      const byte = this.chunk[this.at];
      if (byte === undefined) return this.more();
      const place = endian === "big" ? width - 1 - this.prefixRead : this.prefixRead;
      this.announced += byte * 256 ** place;
      this.prefixRead += 1;
      this.at += 1;
    }
    const length = this.announced - (inclusive ? width : 0);
    if (length < 0) {
      return this.break(`a length of ${this.announced} cannot be: it counts its own ${width} bytes`);
    }
    if (length > this.maxFrameBytes) return this.breakTooLong(this.at, length);
    return this.readBody(length);
  }

  private readBody(length: number): FrameStep {
    const { chunk, at: start, gathered } = this;
    const end = start + length - gathered.length;
    if (end > chunk.length) {
      gathered.append(chunk, start);
      return this.more();
    }
    this.at = end;
    this.prefixRead = 0;
    this.announced = 0;
    if (gathered.length === 0) return { kind: "frame", body: new Uint8Array(chunk.subarray(start, end)) };
    gathered.append(chunk, start, end);
    return { kind: "frame", body: gathered.take() };
  }
}
