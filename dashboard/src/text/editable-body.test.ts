import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fromEditable, toEditable } from "./editable-body.js";

describe("a body that is edited", () => {
  test("has a line a segment, and gets its CR back", () => {
    const body = "MSH|^~\\&|A\rPID|1\r";
    const editable = toEditable(body);
    expect(editable).toEqual({ kind: "editable", text: "MSH|^~\\&|A\nPID|1\n", lineEnd: "\r" });
    expect(fromEditable("MSH|^~\\&|B\nPID|1\n", "\r")).toBe("MSH|^~\\&|B\rPID|1\r");
  });

  test("shows the controls that a text area would lose", () => {
    expect(toEditable("a\x0b\rb\nc\rd")).toEqual({ kind: "editable", text: "a⟨VT⟩\nb⟨LF⟩c\nd", lineEnd: "\r" });
  });

  test("is refused where it holds such words itself, since they could not be told apart", () => {
    for (const body of ["see ⟨CR⟩", "⟨U+202E⟩"]) expect(toEditable(body)).toMatchObject({ kind: "not_editable" });
  });

  test("comes back as it was where nothing was changed, through what a text area does to it", () => {
    const text = fc.string({
      unit: fc.constantFrom(
        "\r",
        "\n",
        "\r\n",
        "a",
        "|",
        "\0",
        "\x0b",
        "\t",
        "\x7f",
        "é",
        "\x85",
        "\u202e",
        "⟨",
        "CR",
        "⟩",
      ),
    });
    fc.assert(
      fc.property(text, (body) => {
        const editable = toEditable(body);
        if (editable.kind !== "editable") {
          expect(body).toContain("⟨CR⟩");
          return;
        }
        const throughArea = editable.text.replaceAll(/\r\n?/g, "\n");
        expect(throughArea).toBe(editable.text);
        expect(fromEditable(throughArea, editable.lineEnd)).toBe(body);
      }),
    );
  });
});
