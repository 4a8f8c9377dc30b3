import { describe, expect, it } from "vitest";
import { selectorsOf } from "./core/needed-series.js";
import { parseCondition } from "./promql/parse-condition.js";
import { readSeries, SeriesReader, writeSeries } from "./series-text.js";

function readerFor(conditions: readonly string[], mostSeries = 100): SeriesReader {
  const rules = conditions.map((condition) => {
    const parsed = parseCondition(condition);
    if (parsed.kind !== "parsed") throw new Error(parsed.reason);
    return { name: condition, needed: selectorsOf(parsed.expression) };
  });
  return new SeriesReader(rules, mostSeries);
}

describe("series of nodes", () => {
  it("have their node as a label, however it is called, and are those that some rule reads", () => {
    const reader = readerFor(["up == 0", 'lag{role="a b"} > 1']);
    const text = '# HELP up X.\n# TYPE up gauge\nup 1\nupper 2\nlag{role="a b"} 0.5\nlag{role="c"} 7\nup{} 3\n\n';
    expect([...reader.read([{ nodeId: 'h"\\o\nst', text }]).series]).toEqual([
      ['up{node="h\\"\\\\o\\nst"}', 3],
      ['lag{node="h\\"\\\\o\\nst",role="a b"}', 0.5],
    ]);
  });

  it("of a rule that reads more than can be kept are not kept, and the others are", () => {
    const text = 'hits{path="/a"} 1\nhits{path="/b"} 2\nhits{path="/c"} 3\nup 1\n';
    const nodes = [{ nodeId: "n", text }];
    const wide = '{__name__=~".+"} > 0';
    const read = readerFor([wide, "up == 0", 'hits{path="/a"} > 0'], 3).read(nodes);
    expect([...read.series.keys()]).toEqual(['hits{node="n",path="/a"}', 'up{node="n"}']);
    expect([...read.refused]).toEqual([[wide, "it reads 4 series; the limit is 3"]]);
    expect(readerFor([wide], 4).read(nodes)).toMatchObject({ refused: new Map() });
  });

  it("come back from their text as they were, whatever their values are", () => {
    const series = new Map([
      ["a", Number.NaN],
      ['b{x="1 2"}', Number.POSITIVE_INFINITY],
      ["c", Number.NEGATIVE_INFINITY],
      ["d", -0.000_001],
      ["e", 1e21],
    ]);
    expect(readSeries(writeSeries(series))).toEqual(series);
  });

  it("are read as prom-client writes them", () => {
    expect([...readSeries("a Nan\nb +Inf\nc -Inf\nd 1e-7\n")]).toEqual([
      ["a", Number.NaN],
      ["b", Number.POSITIVE_INFINITY],
      ["c", Number.NEGATIVE_INFINITY],
      ["d", 1e-7],
    ]);
  });

  it("that make no sense are passed over", () => {
    expect(readSeries("a\nb x\n# c 1\nd \n").size).toBe(0);
  });
});
