import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { delimiterFraming } from "../../src/engine/core/framing/delimiter-framing.js";
import type { Framing } from "../../src/engine/core/framing/framing.js";
import { lengthFraming } from "../../src/engine/core/framing/length-framing.js";
import { mllpFraming } from "../../src/engine/core/framing/mllp-framing.js";

/**
 * A grammar of streams: bodies made of the very bytes that framings care about, with garbage between them where the framing
 * skips it, cut into chunks at random. Whatever the cuts, the frames that come out are those that went in. A failure prints
 * the seed and the smallest stream that shows it.
 */
const seeds = [1, 20_260, 4_711];
const maxFrameBytes = 4_096;

const telling = fc.constantFrom(0x00, 0x01, 0x02, 0x0a, 0x0b, 0x0d, 0x1c, 0x41, 0x42, 0xff);
const byte = fc.oneof({ weight: 4, arbitrary: telling }, { weight: 1, arbitrary: fc.nat(255) });
const body = fc.oneof(
  { weight: 6, arbitrary: fc.array(byte, { maxLength: 24 }).map((bytes) => Uint8Array.from(bytes)) },
  { weight: 1, arbitrary: fc.integer({ min: 200, max: 3_000 }).map((length) => new Uint8Array(length).fill(0x1c)) },
);
const garbage = fc.array(
  byte.filter((one) => one !== 0x0b),
  { maxLength: 5 },
);

/** Sizes of chunks, used again and again until the stream is at its end. */
const cuts = fc.oneof(
  fc.constant([1]),
  fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 20 }),
  fc.array(fc.integer({ min: 1, max: 2_000 }), { minLength: 1, maxLength: 20 }),
);

const framings: readonly (readonly [string, fc.Arbitrary<Framing>, boolean])[] = [
  ["MLLP", fc.constant(mllpFraming({ maxGarbageBytes: 5 })), true],
  [
    "delimiter",
    fc
      .array(fc.constantFrom(0x0d, 0x0a, 0x41), { minLength: 1, maxLength: 5 })
      .map((bytes) => delimiterFraming({ delimiter: Uint8Array.from(bytes), keep: false })),
    false,
  ],
  [
    "length",
    fc
      .record({
        bytes: fc.constantFrom(1 as const, 2 as const, 4 as const),
        endian: fc.constantFrom("big" as const, "little" as const),
        inclusive: fc.boolean(),
      })
      .map(lengthFraming),
    false,
  ],
];

describe.each(framings)("%s framing", (_name, arbitrary, skips) => {
  it.each(seeds)("gives the frames that went in, whatever the chunks (seed %i)", (seed) => {
    fc.assert(
      fc.property(arbitrary, fc.array(fc.tuple(garbage, body), { maxLength: 12 }), cuts, (framing, parts, sizes) => {
        const sent: Uint8Array[] = [];
        const stream: Uint8Array[] = [];
        for (const [before, one] of parts) {
          const framed = framing.frame(one);
          if (framed.kind === "unframeable") continue;
          if (skips) stream.push(Uint8Array.from(before));
          stream.push(framed.bytes);
          sent.push(one);
        }
        const read = readAll(framing, chunksOf(Buffer.concat(stream), sizes));
        expect(read).toEqual({ frames: sent.map(shown), broken: null });
      }),
      { seed, numRuns: 700 },
    );
  });

  it.each(seeds)("reads any bytes alike, whatever the chunks (seed %i)", (seed) => {
    fc.assert(
      fc.property(arbitrary, fc.array(byte, { maxLength: 300 }), cuts, (framing, bytes, sizes) => {
        const stream = Buffer.from(bytes);
        const whole = readAll(framing, [stream], 32);
        const cut = readAll(framing, chunksOf(stream, sizes), 32);
        expect(cut.frames).toEqual(whole.frames);
        expect(cut.broken === null).toBe(whole.broken === null);
      }),
      { seed, numRuns: 700 },
    );
  });
});

function readAll(framing: Framing, chunks: readonly Uint8Array[], limit = maxFrameBytes) {
  const reader = framing.createReader({ maxFrameBytes: limit });
  const frames: string[] = [];
  for (const chunk of chunks) {
    reader.push(chunk);
    for (let step = reader.next(); step.kind !== "more"; step = reader.next()) {
      if (step.kind === "broken") return { frames, broken: step.reason };
      frames.push(shown(step.body));
    }
  }
  return { frames, broken: null };
}

function chunksOf(stream: Uint8Array, sizes: readonly number[]): readonly Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let turn = 0;
  for (let at = 0; at < stream.length; turn += 1) {
    const size = sizes[turn % sizes.length]!;
    chunks.push(stream.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

function shown(frame: Uint8Array): string {
  return Buffer.from(frame).toString("hex");
}
