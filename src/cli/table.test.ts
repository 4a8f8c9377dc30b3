import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Paint } from "./paint.js";
import { type Column, lengthOf, renderTable, shorten } from "./table.js";

interface Row {
  readonly name: string;
  readonly count: number;
}

const columns: readonly Column<Row>[] = [
  { title: "name", cell: ({ name }) => name },
  { title: "count", cell: ({ count }) => String(count), align: "right", whole: true },
  { title: "url", cell: ({ name }) => `http://${name}.example`, tone: () => "good" },
];

const rows: readonly Row[] = [
  { name: "a", count: 7 },
  { name: "a-rather-long-name", count: 1_234_567 },
];

describe("a table", () => {
  it("puts values under their titles, and nothing behind the last column", () => {
    expect(renderTable(columns, rows)).toEqual([
      "name                  count  url",
      "a                         7  http://a.example",
      "a-rather-long-name  1234567  http://a-rather-long-name.example",
    ]);
  });

  it("cuts what may be cut until it fits the terminal", () => {
    const lines = renderTable(columns, rows, { width: 40 });
    expect(lines.map(lengthOf).every((length) => length <= 40)).toBe(true);
    expect(lines[2]).toContain("1234567");
    expect(lines[2]).toContain("…");
  });

  it("leaves columns out where nothing can be cut any more", () => {
    expect(renderTable(columns, rows, { width: 16 })).toEqual([
      "name      count",
      "a             7",
      "a-rat…  1234567",
    ]);
    expect(renderTable(columns, rows, { width: 6 })).toEqual(["name", "a", "a-rat…"]);
  });

  it("leaves out what can be spared before it cuts what matters", () => {
    const spared = columns.map((column) => (column.title === "url" ? { ...column, spare: true } : column));
    expect(renderTable(spared, rows, { width: 30 })).toEqual([
      "name                  count",
      "a                         7",
      "a-rather-long-name  1234567",
    ]);
  });

  it("fits any width, whatever is in it", () => {
    const row = fc.record({ name: fc.string({ unit: "grapheme", maxLength: 40 }), count: fc.nat() });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 5 }), fc.integer({ min: 1, max: 120 }), (some, width) => {
        for (const line of renderTable(columns, some, { width })) expect(lengthOf(line)).toBeLessThanOrEqual(width);
      }),
    );
  });

  it("colours cells without moving them", () => {
    const paint: Paint = (tone, text) => (tone === "good" ? `<${text}>` : text);
    const [, first] = renderTable(columns, rows, { paint });
    expect(first).toBe("a                         7  <http://a.example>");
  });

  it("lets nothing through that would steer the terminal", () => {
    const [, line] = renderTable(columns, [{ name: "a\u001b[31m\nb\u202e", count: 1 }]);
    expect(line).toMatch(/^a \[31m b /);
  });
});

describe("a text that is too long", () => {
  it.each([
    ["abcdef", 6, "abcdef"],
    ["abcdef", 5, "abcd…"],
    ["abcdef", 1, "…"],
    ["abcdef", 0, ""],
    ["日本語", 6, "日本語"],
    ["日本語", 5, "日本…"],
    ["日本語", 4, "日…"],
    ["e\u0301e\u0301e\u0301", 2, "e\u0301…"],
  ])("%s in %d columns is %s", (text, width, cut) => {
    expect(shorten(text, width)).toBe(cut);
  });
});
