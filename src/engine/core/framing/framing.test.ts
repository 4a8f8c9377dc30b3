import { describe, expect, it, vi } from "vitest";
import { delimiterFraming } from "./delimiter-framing.js";
import type { FrameReader, Framing } from "./framing.js";
import { lengthFraming } from "./length-framing.js";
import { mllpFraming } from "./mllp-framing.js";

const mllp = mllpFraming({ maxGarbageBytes: 16 });
const lines = delimiterFraming({ delimiter: Buffer.from("\r\n"), keep: false });
const keptLines = delimiterFraming({ delimiter: Buffer.from("\r\n"), keep: true });
const short = lengthFraming({ bytes: 2, endian: "big", inclusive: false });

function readerOf(framing: Framing, maxFrameBytes = 1_000): FrameReader {
  return framing.createReader({ maxFrameBytes });
}

/** Everything that the bytes complete; a broken stream as its reason in angle brackets. */
function read(reader: FrameReader, ...chunks: readonly (string | Uint8Array)[]): readonly string[] {
  const seen: string[] = [];
  for (const chunk of chunks) {
    reader.push(typeof chunk === "string" ? Buffer.from(chunk, "latin1") : chunk);
    for (let step = reader.next(); step.kind !== "more"; step = reader.next()) {
      seen.push(step.kind === "frame" ? Buffer.from(step.body).toString("latin1") : `<${step.reason}>`);
      if (step.kind === "broken") break;
    }
  }
  return seen;
}

const oneByOne = (text: string): readonly string[] => text.split("");

describe("MLLP framing", () => {
  it("finds the frames of a chunk, several of them too", () => {
    expect(read(readerOf(mllp), "\x0bone\x1c\r\x0btwo\x1c\r\x0bth")).toEqual(["one", "two"]);
  });

  it("finds a frame that comes byte by byte", () => {
    expect(read(readerOf(mllp), ...oneByOne("\x0bone\x1c\r\x0btwo\x1c\r"))).toEqual(["one", "two"]);
  });

  it("takes an FS that no CR follows as data, also where the chunk ends behind it", () => {
    expect(read(readerOf(mllp), "\x0ba\x1cb\x1c\x1c\r")).toEqual(["a\x1cb\x1c"]);
    expect(read(readerOf(mllp), "\x0ba\x1c", "b\x1c", "\x1c", "\r")).toEqual(["a\x1cb\x1c"]);
  });

  it("waits for the CR that comes in another chunk", () => {
    const reader = readerOf(mllp);
    expect(read(reader, "\x0bone\x1c")).toEqual([]);
    expect(reader.begun).toBe(true);
    expect(read(reader, "\r")).toEqual(["one"]);
    expect(reader.begun).toBe(false);
  });

  it("takes a VT within a body as data", () => {
    expect(read(readerOf(mllp), "\x0ba\x0bb\x1c\r")).toEqual(["a\x0bb"]);
  });

  it("knows empty frames", () => {
    expect(read(readerOf(mllp), "\x0b\x1c\r\x0b\x1c\r")).toEqual(["", ""]);
  });

  it("skips and counts what lies between frames, up to its bound each time", () => {
    const reader = readerOf(mllp);
    expect(read(reader, `${"x".repeat(16)}\x0bone\x1c\r\r\n${"y".repeat(14)}`, "\x0btwo\x1c\r")).toEqual([
      "one",
      "two",
    ]);
    expect(reader.skipped).toBe(32);
    const reason = "<17 bytes belong to no MLLP frame: a frame begins with the byte 0B>";
    expect(read(reader, "z".repeat(16), "z")).toEqual([reason]);
  });

  it("skips nothing where nothing may be skipped", () => {
    expect(read(readerOf(mllpFraming({ maxGarbageBytes: 0 })), "\x0bone\x1c\r\n")).toEqual([
      "one",
      "<1 bytes belong to no MLLP frame: a frame begins with the byte 0B>",
    ]);
  });

  it("takes a body of the greatest length, and refuses one byte more before its end has come", () => {
    expect(read(readerOf(mllp, 3), "\x0bone\x1c\r")).toEqual(["one"]);
    expect(read(readerOf(mllp, 3), ...oneByOne("\x0bone\x1c\r"))).toEqual(["one"]);
    expect(read(readerOf(mllp, 3), "\x0bfour")).toEqual(["<the frame is longer than 3 bytes>"]);
    expect(read(readerOf(mllp, 3), ...oneByOne("\x0bfour"))).toEqual(["<the frame is longer than 3 bytes>"]);
    expect(read(readerOf(mllp, 3), "\x0bone\x1c", "x")).toEqual(["<the frame is longer than 3 bytes>"]);
  });

  it("shows how a frame began that is too long, whatever the chunks", () => {
    for (const chunks of [["\x0bMSH|and so on"], oneByOne("\x0bMSH|and so on")]) {
      const reader = readerOf(mllp, 6);
      read(reader, ...chunks.slice(0, 1));
      let step = reader.next();
      for (const chunk of chunks.slice(1)) {
        if (step.kind === "broken") break;
        reader.push(Buffer.from(chunk));
        step = reader.next();
      }
      expect(step.kind).toBe("broken");
      expect(step.kind === "broken" && Buffer.from(step.head ?? []).toString()).toMatch(/^MSH\|an/);
    }
  });

  it("stays broken", () => {
    const reader = readerOf(mllp, 3);
    read(reader, "\x0bfour");
    expect(read(reader, "\x1c\r\x0bone\x1c\r")).toEqual(["<the frame is longer than 3 bytes>"]);
  });

  it("does not frame a body that would end the frame", () => {
    expect(mllp.frame(Buffer.from("a\x1c\rb"))).toEqual({
      kind: "unframeable",
      reason: "its bytes 1C 0D at 1 would end the MLLP frame in the middle of the message",
    });
    expect(mllp.frame(Buffer.from("a\x1cb\x1c"))).toMatchObject({ kind: "framed" });
  });
});

describe("delimiter framing", () => {
  it("finds the frames of a chunk, and those that come byte by byte", () => {
    expect(read(readerOf(lines), "one\r\ntwo\r\nth")).toEqual(["one", "two"]);
    expect(read(readerOf(lines), ...oneByOne("one\r\n\r\ntwo\r\n"))).toEqual(["one", "", "two"]);
  });

  it("keeps the delimiter where it is told to", () => {
    expect(read(readerOf(keptLines), "one\r\nt", "wo\r", "\n")).toEqual(["one\r\n", "two\r\n"]);
  });

  it("takes half a delimiter as data", () => {
    expect(read(readerOf(lines), "a\r", "b\r", "\r", "\n")).toEqual(["a\rb\r"]);
  });

  it("finds a delimiter that begins within what looked like one", () => {
    const framing = delimiterFraming({ delimiter: Buffer.from("aab"), keep: false });
    expect(read(readerOf(framing), "xaaab", "aa", "ab")).toEqual(["xa", "a"]);
  });

  it("takes a body of the greatest length, and refuses one byte more before its end has come", () => {
    expect(read(readerOf(lines, 3), "one\r\n")).toEqual(["one"]);
    expect(read(readerOf(lines, 3), ...oneByOne("one\r\n"))).toEqual(["one"]);
    expect(read(readerOf(lines, 3), "four")).toEqual(["<the frame is longer than 3 bytes>"]);
    expect(read(readerOf(lines, 3), "one", "\r", "x")).toEqual(["<the frame is longer than 3 bytes>"]);
  });

  it("does not frame a body that would end the frame, not even together with the delimiter", () => {
    expect(lines.frame(Buffer.from("a\r\nb"))).toEqual({
      kind: "unframeable",
      reason: "its bytes at 1 are the delimiter, which would end the frame in the middle of the message",
    });
    const odd = delimiterFraming({ delimiter: Buffer.from("aba"), keep: false });
    expect(odd.frame(Buffer.from("ab"))).toMatchObject({ kind: "unframeable" });
  });

  it("does not end a frame twice where the body keeps its delimiter", () => {
    expect(keptLines.frame(Buffer.from("one\r\n"))).toEqual({
      kind: "framed",
      bytes: new Uint8Array(Buffer.from("one\r\n")),
    });
    expect(keptLines.frame(Buffer.from("one"))).toEqual({
      kind: "framed",
      bytes: new Uint8Array(Buffer.from("one\r\n")),
    });
  });
});

describe("length framing", () => {
  it("finds the frames of a chunk, and those that come byte by byte", () => {
    expect(read(readerOf(short), "\0\x03one\0\0\0\x03two\0")).toEqual(["one", "", "two"]);
    expect(read(readerOf(short), ...oneByOne("\0\x03one\0\0\0\x03two\0"))).toEqual(["one", "", "two"]);
  });

  it.each([
    [{ bytes: 1, endian: "big", inclusive: false } as const, [3]],
    [{ bytes: 1, endian: "big", inclusive: true } as const, [4]],
    [{ bytes: 2, endian: "little", inclusive: false } as const, [3, 0]],
    [{ bytes: 4, endian: "big", inclusive: true } as const, [0, 0, 0, 7]],
    [{ bytes: 4, endian: "little", inclusive: false } as const, [3, 0, 0, 0]],
  ])("writes and reads a length as %o", (options, prefix) => {
    const framing = lengthFraming(options);
    const bytes = Uint8Array.from([...prefix, ...Buffer.from("one")]);
    expect(framing.frame(Buffer.from("one"))).toEqual({ kind: "framed", bytes });
    expect(read(readerOf(framing), bytes)).toEqual(["one"]);
  });

  it("refuses a length beyond the greatest as soon as it is read, four bytes of it too", () => {
    expect(read(readerOf(short, 3), "\0\x04")).toEqual(["<the frame is 4 bytes and so longer than 3 bytes>"]);
    const long = lengthFraming({ bytes: 4, endian: "big", inclusive: false });
    expect(read(readerOf(long, 3), "\xff\xff\xff\xff")).toEqual([
      "<the frame is 4294967295 bytes and so longer than 3 bytes>",
    ]);
  });

  it("refuses a length that does not even count itself", () => {
    const framing = lengthFraming({ bytes: 2, endian: "big", inclusive: true });
    expect(read(readerOf(framing), "\0\x01")).toEqual(["<a length of 1 cannot be: it counts its own 2 bytes>"]);
  });

  it("does not frame a body whose length does not fit", () => {
    const framing = lengthFraming({ bytes: 1, endian: "big", inclusive: true });
    expect(framing.frame(Buffer.alloc(254))).toMatchObject({ kind: "framed" });
    expect(framing.frame(Buffer.alloc(255))).toEqual({
      kind: "unframeable",
      reason: "its length of 256 does not fit into 1 bytes (at most 255)",
    });
  });
});

describe("a reader of frames", () => {
  it("gives bodies that do not change with the chunk they came in", () => {
    const chunk = Buffer.from("\x0bone\x1c\r");
    const reader = readerOf(mllp);
    reader.push(chunk);
    const step = reader.next();
    chunk.fill(0);
    expect(step.kind === "frame" && Buffer.from(step.body).toString()).toBe("one");
  });

  it("refuses bytes while it still has frames to give", () => {
    const reader = readerOf(mllp);
    reader.push(Buffer.from("\x0bone\x1c\r\x0btwo\x1c\r"));
    reader.next();
    expect(() => reader.push(Buffer.from("\x0bthree\x1c\r"))).toThrow("only when it is empty");
  });

  it("holds no more than the longest frame, and nothing of one that it gave up", () => {
    const reader = readerOf(mllp, 600_000);
    const chunk = Buffer.alloc(50_000, "x");
    expect(read(reader, "\x0b", ...Array.from({ length: 12 }, () => chunk))).toEqual([]);
    expect(reader.held).toBe(600_000);
    expect(Buffer.from(reader.head()).toString()).toMatch(/^x{8192}$/);
    reader.discard();
    expect(reader.held).toBe(0);
    expect(read(reader, "\x1c\r")).toEqual(["<it was given up>"]);
  });

  it.each([
    ["MLLP", mllp, Buffer.from("\x0b")],
    ["delimiter", lines, Buffer.alloc(0)],
    ["length", lengthFraming({ bytes: 4, endian: "big", inclusive: false }), Buffer.from([1, 0, 0, 0])],
  ])("of %s reads a frame of 16 MiB in chunks of 1 kB without copying it again and again", (_name, framing, start) => {
    const copied = countCopies(() => {
      const reader = framing.createReader({ maxFrameBytes: 16_777_216 });
      reader.push(start);
      expect(reader.next()).toEqual({ kind: "more" });
      const chunk = Buffer.alloc(1_024, "x");
      for (let sent = 0; sent < 16_777_216 - chunk.length; sent += chunk.length) {
        reader.push(chunk);
        reader.next();
      }
    });
    expect(copied).toBeGreaterThan(16_000_000);
    expect(copied).toBeLessThan(3 * 16_777_216);
  });
});

/** How many bytes are copied from one array into another. */
function countCopies(run: () => void): number {
  const copies = vi.spyOn(Uint8Array.prototype, "set");
  try {
    run();
    return copies.mock.calls.reduce((sum, [from]) => sum + from.length, 0);
  } finally {
    copies.mockRestore();
  }
}
