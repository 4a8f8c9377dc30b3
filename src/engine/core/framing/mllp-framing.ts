import type { Framed, FrameStep, Framing } from "./framing.js";
import { StreamReader } from "./stream-reader.js";

const vt = 0x0b;
const fs = 0x1c;
const cr = 0x0d;

/**
 * The Minimal Lower Layer Protocol: VT, the body, FS CR. An FS that no CR follows is data, and so is a VT in a body. Between
 * two frames up to `maxGarbageBytes` of anything else are skipped.
 */
export function mllpFraming({ maxGarbageBytes }: { readonly maxGarbageBytes: number }): Framing {
  return {
    createReader: ({ maxFrameBytes }) => new MllpReader(maxFrameBytes, maxGarbageBytes),
    frame: frameMllp,
  };
}

function frameMllp(body: Uint8Array): Framed {
  for (let at = body.indexOf(fs); at !== -1; at = body.indexOf(fs, at + 1)) {
    if (body[at + 1] === cr) {
      const reason = `its bytes 1C 0D at ${at} would end the MLLP frame in the middle of the message`;
      return { kind: "unframeable", reason };
    }
  }
  const bytes = new Uint8Array(body.length + 3);
  bytes[0] = vt;
  bytes.set(body, 1);
  bytes[body.length + 1] = fs;
  bytes[body.length + 2] = cr;
  return { kind: "framed", bytes };
}

class MllpReader extends StreamReader {
  begun = false;
  private readonly maxGarbageBytes: number;
  private garbage = 0;
  /** The last byte so far was an FS, and the next byte tells whether it ends the frame. */
  private fsPending = false;

  constructor(maxFrameBytes: number, maxGarbageBytes: number) {
    super(maxFrameBytes);
    this.maxGarbageBytes = maxGarbageBytes;
  }

  protected read(): FrameStep {
    return this.begun ? this.readBody() : this.findStart();
  }

  private findStart(): FrameStep {
    const { chunk, at } = this;
    const start = chunk.indexOf(vt, at);
    const end = start === -1 ? chunk.length : start;
    this.skipped += end - at;
    this.garbage += end - at;
    if (this.garbage > this.maxGarbageBytes) {
      return this.break(`${this.garbage} bytes belong to no MLLP frame: a frame begins with the byte 0B`);
    }
    if (start === -1) return this.more();
    this.at = start + 1;
    this.begun = true;
    this.garbage = 0;
    return this.readBody();
  }

  private readBody(): FrameStep {
    if (this.fsPending && this.at < this.chunk.length) {
      this.fsPending = false;
      if (this.chunk[this.at] === cr) {
        this.at += 1;
        return this.end(this.gathered.take());
      }
      this.gathered.appendByte(fs);
    }
    const { chunk, at: start } = this;
    const found = endOfBody(chunk, start);
    if (this.gathered.length + found - start > this.maxFrameBytes) return this.breakTooLong(start);
    if (found + 1 < chunk.length) {
      this.at = found + 2;
      if (this.gathered.length === 0) return this.end(new Uint8Array(chunk.subarray(start, found)));
      this.gathered.append(chunk, start, found);
      return this.end(this.gathered.take());
    }
    this.gathered.append(chunk, start, found);
    this.fsPending ||= found < chunk.length;
    return this.more();
  }

  private end(body: Uint8Array): FrameStep {
    this.begun = false;
    return { kind: "frame", body };
  }
}

/** Where the FS of FS CR is, or an FS at the very end of the chunk; the chunk's length where there is neither. */
function endOfBody(chunk: Uint8Array, start: number): number {
  let found = chunk.indexOf(fs, start);
  while (found !== -1 && found + 1 < chunk.length && chunk[found + 1] !== cr) found = chunk.indexOf(fs, found + 1);
  return found === -1 ? chunk.length : found;
}
