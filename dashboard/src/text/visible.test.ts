import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { piecesOf, visible } from "./visible.js";

describe("text from outside", () => {
  test("shows controls by their names", () => {
    expect(piecesOf("a\x0bb\x7f")).toEqual([
      { kind: "text", text: "a" },
      { kind: "mark", text: "VT", title: "A control character (U+000B)" },
      { kind: "text", text: "b" },
      { kind: "mark", text: "DEL", title: "A control character (U+007F)" },
    ]);
  });

  test("shows what would turn the reading direction around, in names too", () => {
    expect(visible("lane\u202egnp.exe")).toBe("lane⟨U+202E⟩gnp.exe");
    expect(visible("a\u200bb\u2066c\ufeff")).toBe("a⟨U+200B⟩b⟨U+2066⟩c⟨U+FEFF⟩");
  });

  test("shows half of a character by its number", () => {
    expect(visible("\ud800x")).toBe("⟨U+D800⟩x");
  });

  test("leaves letters of any language as they are", () => {
    const text = "Müller 山田 Ωμέγα 😀 <script>alert(1)</script> & \"'";
    expect(piecesOf(text)).toEqual([{ kind: "text", text }]);
  });

  test("is bounded in elements, and loses nothing", () => {
    const pieces = piecesOf("\x01x".repeat(50_000));
    expect(pieces.length).toBeLessThan(5_000);
    expect(
      pieces
        .map(({ text }) => text)
        .join("")
        .match(/x/g),
    ).toHaveLength(50_000);
    expect(
      pieces
        .map(({ text }) => text)
        .join("")
        .match(/SOH/g),
    ).toHaveLength(50_000);
  });

  test("never lets a control or a format character through", () => {
    const shown = (text: string) =>
      visible(text) +
      piecesOf(text)
        .map((piece) => piece.text)
        .join("");
    const property = fc.property(
      fc.string({ unit: "binary" }),
      (text) => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(shown(text)),
    );
    expect(fc.check(property).counterexample).toBeNull();
  });
});
