import { describe, expect, it } from "vitest";
import { readAcknowledgement } from "../../src/engine/core/hl7/acknowledged.js";
import { readBatch } from "../../src/engine/core/hl7/batch.js";
import { type Charset, utf8 } from "../../src/engine/core/hl7/charset.js";
import { peekHeader } from "../../src/engine/core/hl7/header.js";
import { Hl7Message } from "../../src/engine/core/hl7/message.js";

/** How many bytes were looked at: by searches, by decoding and by encoding. Counted, since time is another's on a busy machine. */
let looked = 0;

class CountedBytes extends Uint8Array {
  override indexOf(byte: number, from = 0): number {
    const at = super.indexOf(byte, from);
    looked += (at < 0 ? this.length : at + 1) - from;
    return at;
  }

  override includes(byte: number, from = 0): boolean {
    return this.indexOf(byte, from) >= 0;
  }
}

const counted: Charset = {
  name: "UTF-8",
  decode: (bytes) => {
    looked += bytes.length;
    return utf8.decode(bytes);
  },
  encode: (text) => {
    looked += text.length;
    return utf8.encode(text);
  },
};

const options = { charsetOf: () => counted };

function cost(text: string, act: (bytes: Uint8Array) => unknown): number {
  const bytes = CountedBytes.from(Buffer.from(text));
  looked = 0;
  act(bytes);
  return looked;
}

function read(bytes: Uint8Array): Hl7Message {
  const result = Hl7Message.read(bytes, options);
  if (result.kind === "malformed") throw new Error(result.reason);
  return result.message;
}

const header = "MSH|^~\\&|LAB|CENTRAL|EHR|WARD|202601311412||ORU^R01|1|P|2.3";
const megabyte = 1 << 20;
const shortBytes = megabyte / 64;

/** As long as asked for, made of many segments, or of few with long values. */
const shapes: Readonly<Record<string, (bytes: number, end: string) => string>> = {
  "many segments": (bytes, end) =>
    `${header}${end}${`OBX|1|TX|A^B||text~more^and&more|\\T\\${end}`.repeat(bytes / 36)}`,
  "one long value": (bytes, end) => `${header}${end}OBX|1|TX|||${"0123456789abcdef".repeat(bytes / 16)}${end}`,
  "many fields": (bytes, end) => `${header}${end}OBX${"|x".repeat(bytes / 2)}${end}`,
  "many repetitions": (bytes, end) => `${header}${end}OBX|${"x~".repeat(bytes / 2)}${end}`,
  "many components": (bytes, end) => `${header}${end}OBX|${"x^".repeat(bytes / 2)}${end}`,
  "blank lines": (bytes, end) => `${header}${end}${end.repeat(bytes / end.length)}OBX|1${end}`,
};

const everything = (bytes: Uint8Array): void => {
  const message = read(bytes);
  for (const segment of message.segments()) segment.text();
  message.getAll("OBX-1");
  message.getAll("OBX-5.2");
  message.flaws();
  message.set("OBX-5", "x").setRaw("OBX-5[2]", "y").set("OBX-5", null).toBytes();
  readBatch(bytes);
  readAcknowledgement(bytes, options);
};

describe.each(["\r", "\n", "\r\n"])("What it costs to read HL7 with lines that end with %j", (end) => {
  it.each(Object.entries(shapes))("grows with its length and no faster: %s", { timeout: 60_000 }, (_, shape) => {
    const [small, large] = [cost(shape(shortBytes, end), everything), cost(shape(8 * shortBytes, end), everything)];
    expect(small).toBeGreaterThan(shortBytes);
    expect(large / small).toBeLessThan(8.5);
    // Each of the dozen questions looks at everything a few times at most.
    expect(large).toBeLessThan(40 * 8 * shortBytes);
  });

  it.each(Object.entries(shapes))("is the same for a header, however much comes behind it: %s", (_, shape) => {
    const peek = (bytes: Uint8Array): unknown => peekHeader(bytes, options);
    const [small, large] = [cost(shape(megabyte / 8, end), peek), cost(shape(megabyte, end), peek)];
    expect(large).toBe(small);
    expect(large).toBeLessThan(70_000);
  });

  it("is one look for line ends, and the field that was asked for", () => {
    const text = shapes["one long value"]!(5 * megabyte, end);
    expect(cost(text, (bytes) => read(bytes).get("OBX-3"))).toBeLessThan(5 * megabyte * 2.1 + 70_000);
    expect(cost(text, (bytes) => read(bytes))).toBeLessThan(70_000);
  });
});

describe("A megabyte of the worst", () => {
  // Whatever took the square of the length would be at it for a quarter of an hour.
  it.each([
    ["escape characters", "\\"],
    ["sequences", "\\E\\"],
    ["sequences that never end", "\\X0"],
    ["hexadecimal digits", "4A"],
    ["local sequences", "\\Z"],
    ["repetitions", "~"],
    ["subcomponents", "&"],
    ["separators of all kinds", "|^~\\&"],
    ["NUL", "\0"],
    ["characters of four bytes", "🏥"],
  ])("are read: %s", { timeout: 60_000 }, (_, unit) => {
    const text = unit.repeat(megabyte / Buffer.byteLength(unit));
    const message = read(Buffer.from(`${header}\rNTE|1|L|\\X${text}\\|x\r`));
    expect(message.get("NTE-3").length + message.getAll("NTE-3").length).toBeGreaterThan(0);
    const changed = message.set("NTE-2", text);
    expect(changed.get("NTE-2") === text).toBe(true);
  });
});
