import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8 } from "./charset.js";
import { escapeText, unescapeText } from "./escapes.js";
import { splitLines } from "./lines.js";
import { Hl7Message } from "./message.js";
import { type Separators, usualSeparators } from "./separators.js";

const characters = "!#$%&'*+,-./:;<=>?@[\\]^_`{|}~";

/** Any six that differ, so that no rule holds only for the usual ones. */
const separators: fc.Arbitrary<Separators> = fc
  .shuffledSubarray(Array.from(characters), { minLength: 6, maxLength: 6 })
  .map(([field = "", component = "", repetition = "", mark = "", subcomponent = "", truncation = ""]) => ({
    field,
    component,
    repetition,
    escape: mark,
    subcomponent,
    truncation,
  }));

/** Any text, and most of all what has to be escaped. */
const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({
    unit: fc.constantFrom(...characters.split(""), "\r", "\n", "\0", "\u001c", "E", "F", "X", "0", "D", "é"),
  }),
);

describe("Escaping", () => {
  it("is undone by unescaping, for any text and separators", () => {
    fc.assert(
      fc.property(text, separators, (value, chosen) => {
        const escaped = escapeText(value, chosen);
        expect(escaped.kind).toBe("escaped");
        const written = escaped.kind === "escaped" ? escaped.written : "";
        expect(unescapeText(written, chosen, utf8)).toBe(value);
      }),
    );
  });

  it("leaves no separator, line end or frame character", () => {
    fc.assert(
      fc.property(text, separators, (value, chosen) => {
        const escaped = escapeText(value, chosen);
        const written = escaped.kind === "escaped" ? escaped.written : "";
        const { escape: mark, ...others } = chosen;
        for (const separator of [...Object.values(others), "\r", "\n", "\0", "\u000b", "\u001c"]) {
          expect(written.includes(separator)).toBe(false);
        }
        expect(written.split(mark).length % 2).toBe(1);
      }),
    );
  });

  it.each([
    ["plain", "plain"],
    ["a\\F\\b\\S\\c\\T\\d\\R\\e\\E\\f", "a|b^c&d~e\\f"],
    ["one\\.br\\two", "one\ntwo"],
    ["\\X48656C6C6F\\ \\XC3a9\\", "Hello é"],
    [
      "\\H\\bold\\N\\ \\.sp+2\\ \\Zlocal\\ \\C2842\\ \\M24524A\\ \\P\\",
      "\\H\\bold\\N\\ \\.sp+2\\ \\Zlocal\\ \\C2842\\ \\M24524A\\ \\P\\",
    ],
    ["\\X4\\ \\Xzz\\ \\X\\ \\\\", "\\X4\\ \\Xzz\\ \\X\\ \\\\"],
    // An escape character that nobody escaped does not eat the sequence behind it.
    ["C:\\temp \\T\\ more", "C:\\temp & more"],
    ["ends with \\", "ends with \\"],
    ["\\E\\H\\E\\", "\\H\\"],
  ])("of %s stands for %j", (written, value) => {
    expect(unescapeText(written, usualSeparators, utf8)).toBe(value);
  });
});

describe("Lines", () => {
  it("are all of the bytes, whatever these are", () => {
    const bytes = fc.array(fc.constantFrom(0x0d, 0x0a, 0x41, 0x00, 0xff), { maxLength: 40 });
    fc.assert(
      fc.property(bytes, (given) => {
        const lines = splitLines(Uint8Array.from(given));
        expect(lines.flatMap(({ body, end }) => [...body, ...end])).toEqual(given);
        expect(lines.slice(0, -1).every(({ end }) => end.length > 0)).toBe(true);
        expect(lines.some(({ body }) => body.includes(0x0d))).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});

describe("Reading and writing", () => {
  it("gives the bytes back, whatever follows the separators", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (tail) => {
        const bytes = Buffer.concat([Buffer.from("MSH|^~\\&|A|B|C|D|||ADT^A01|1|P|2.5|"), tail]);
        const result = Hl7Message.read(bytes);
        expect(result.kind).toBe("read");
        if (result.kind === "malformed") return;
        result.message.segments();
        expect(Buffer.from(result.message.toBytes()).equals(bytes)).toBe(true);
        // Without what was kept of the whole, so that the lines are put together again.
        const changed = result.message.addSegment("ZZ9", [], { after: "MSH" }).removeSegment("ZZ9");
        const isEnded = /[\r\n]/.test(bytes.toString("latin1"));
        expect(!isEnded || Buffer.from(changed.toBytes()).equals(bytes)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("never throws on any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.boolean(), (bytes, isHeader) => {
        const whole = isHeader ? Buffer.concat([Buffer.from("MSH"), bytes]) : bytes;
        expect(["read", "malformed"]).toContain(Hl7Message.read(whole).kind);
      }),
      { numRuns: 1_000 },
    );
  });

  it("finds what was set, wherever it was set, after reading anew", () => {
    const path = fc
      .tuple(fc.nat(11), fc.option(fc.nat(3)), fc.option(fc.nat(4)), fc.option(fc.nat(2)))
      .map(([field, repetition, component, subcomponent]) => {
        const deep =
          component === null ? "" : `.${component + 1}${subcomponent === null ? "" : `.${subcomponent + 1}`}`;
        return `PID-${field + 1}${repetition === null ? "" : `[${repetition + 1}]`}${deep}`;
      });
    fc.assert(
      fc.property(separators, fc.array(fc.tuple(path, text), { maxLength: 6 }), (chosen, changes) => {
        const { field, component, repetition, escape: mark, subcomponent, truncation } = chosen;
        const head = `MSH${field}${component}${repetition}${mark}${subcomponent}${truncation}${field}A\rPID${field}1\r`;
        const result = Hl7Message.read(Buffer.from(head));
        if (result.kind === "malformed") throw new Error(result.reason);
        let { message } = result;
        for (const [place, value] of changes) {
          message = message.set(place, value);
          const anew = Hl7Message.read(message.toBytes());
          expect(anew.kind === "read" && anew.message.get(place)).toBe(value);
        }
      }),
      { numRuns: 300 },
    );
  });
});
