import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { linesOf } from "./body-lines.js";

const textOf = ({ lines }: ReturnType<typeof linesOf>): string[] =>
  lines.map(({ pieces }) => pieces.map(({ text }) => text).join(""));

describe("the lines of a body", () => {
  test("break at HL7's CR, which is not shown where it ends them all", () => {
    const lines = linesOf("MSH|^~\\&|A\rPID|1\r");
    expect(textOf(lines)).toEqual(["MSH|^~\\&|A", "PID|1"]);
    expect(lines).toMatchObject({ lineEnd: "CR", left: 0 });
  });

  test("show their ends where they do not all end alike", () => {
    const lines = linesOf("a\rb\nc\r\n");
    expect(textOf(lines)).toEqual(["aCR", "bLF", "cCRLF"]);
    expect(lines.lineEnd).toBe("mixed");
  });

  test("are cut after so many characters, and say how much is left", () => {
    const lines = linesOf("abcdefghij", { characters: 4, lines: 10 });
    expect(textOf(lines)).toEqual(["abcd"]);
    expect(lines.left).toBe(6);
  });

  test("are cut after so many lines", () => {
    const lines = linesOf("a\nb\nc\nd", { characters: 100, lines: 2 });
    expect(textOf(lines)).toEqual(["a", "b"]);
    expect(lines.left).toBe(3);
  });

  test("are one, and empty, where the body is empty", () => {
    expect(textOf(linesOf(""))).toEqual([""]);
  });

  test("have every printable character of the body, in order", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", "|", "\r", "\n", "\r\n", "é") }), (text) => {
        const shown = linesOf(text, { characters: 1_000, lines: 1_000 }).lines.flatMap(({ pieces }) => pieces);
        const printed = shown.filter(({ kind }) => kind === "text").map((piece) => piece.text);
        expect(printed.join("")).toBe(text.replaceAll(/[\r\n]/g, ""));
      }),
    );
  });
});
