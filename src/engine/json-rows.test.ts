import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJsonRows } from "./json-rows.js";

const read = async (text: string) => await readJsonRows(Buffer.from(text));

describe("a text of rows", () => {
  it("is read as JSON.parse would, whatever its rows hold", async () => {
    const rows = fc.array(fc.dictionary(fc.string(), fc.jsonValue()));
    await fc.assert(
      fc.asyncProperty(rows, fc.constantFrom(0, 2, "\t"), async (given, indent) => {
        const text = JSON.stringify(given, null, indent);
        expect(await read(text)).toEqual({ kind: "rows", rows: JSON.parse(text) });
      }),
    );
  });

  it("that is cut off or goes on behind its end is no JSON", async () => {
    const text = '[{"a":"]},["},{"b":[1,{"c":"\\\\"}]}]';
    for (let end = 0; end < text.length; end += 1)
      expect(await read(text.slice(0, end)), text.slice(0, end)).toEqual({ kind: "bad", problem: "it is no JSON" });
    expect(await read(`\uFEFF ${text}\n`)).toMatchObject({ kind: "rows" });
    for (const bad of [`${text},`, `${text}]`, '[{"a":1},]', '[{"a":1} {"b":2}]', "[,]", "nonsense"]) {
      expect(await read(bad), bad).toEqual({ kind: "bad", problem: "it is no JSON" });
    }
  });

  it.each(['{"a":1}', '"text"', "[1]", "[[]]", "[null]", '[{"a":1},2]'])("%s is no table", async (text) => {
    expect(await read(text)).toEqual({ kind: "bad", problem: "it must be a JSON array of objects" });
  });

  it("of many rows lets others have their turn", async () => {
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 0);
    const rows = Array.from({ length: 50_000 }, (_, n) => ({ n, name: `row ${n} of many, each of some length` }));
    expect(await read(JSON.stringify(rows))).toMatchObject({ kind: "rows", rows: { length: 50_000 } });
    clearInterval(timer);
    expect(turns).toBeGreaterThan(2);
  });
});
