/**
 * How messages are told apart on a stream of bytes. Pure: bytes in, frames out, whatever the chunks were. A reader holds the
 * bytes of one frame and the chunk that it was given last, never more, and looks at each byte once.
 */
export interface Framing {
  createReader(limits: FrameLimits): FrameReader;
  /** The bytes that carry the body, or why no frame can. */
  frame(body: Uint8Array): Framed;
}

export interface FrameLimits {
  /** The longest body. */
  readonly maxFrameBytes: number;
}

export type Framed =
  | { readonly kind: "framed"; readonly bytes: Uint8Array }
  | { readonly kind: "unframeable"; readonly reason: string };

export interface FrameReader {
  /** Takes the next bytes. Only when it is empty, so that nobody hands in faster than frames are taken. */
  push(chunk: Uint8Array): void;
  /** Whether all of the last bytes were looked at: without others there is no further frame. */
  readonly isEmpty: boolean;
  /** The next frame of the bytes so far. Its body is a copy. Once broken it stays broken: where a frame begins is lost. */
  next(): FrameStep;
  /** Whether a frame has begun that has not ended. */
  readonly begun: boolean;
  /** How many bytes belonged to no frame. */
  readonly skipped: number;
  /** How many bytes of memory it holds for the frame that has begun. */
  readonly held: number;
  /** How the frame that has begun begins. */
  head(): Uint8Array;
  /** Gives the stream up, and what it holds of it. */
  discard(): void;
}

export type FrameStep =
  | { readonly kind: "frame"; readonly body: Uint8Array }
  | { readonly kind: "more" }
  | BrokenStream;

export interface BrokenStream {
  readonly kind: "broken";
  readonly reason: string;
  /** How the frame began that is too long, so that it can still be answered; null where there was none. */
  readonly head: Uint8Array | null;
}
