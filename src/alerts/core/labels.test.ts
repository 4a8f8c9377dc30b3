import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keyOf, labelsOf, parseSeries, writeSeries } from "./labels.js";

describe("the name of a series", () => {
  it.each([
    ["up", { __name__: "up" }],
    ["up{}", { __name__: "up" }],
    ['up{b="2",a="1"}', { __name__: "up", a: "1", b: "2" }],
    ['up{a="x,} \\"y\\" \\\\ \\n",}', { __name__: "up", a: 'x,} "y" \\ \n' }],
    ['up{a=""}', { __name__: "up" }],
    ['up { a = "1" , b = "2" }', { __name__: "up", a: "1", b: "2" }],
  ])("%s is read", (series, labels) => {
    expect(Object.fromEntries(parseSeries(series) ?? [])).toEqual(labels);
  });

  it.each(["", "{a=1}", "1up", 'up{a="1"', "up{a}", 'up{a="1" b="2"}', 'up{a="1"} 5'])("%j is none", (series) => {
    expect(parseSeries(series)).toBeNull();
  });

  it("comes back as it was written, and does not depend on the order of labels", () => {
    const label = fc.tuple(fc.constantFrom("a", "b", "c", "__proto__", "constructor"), fc.string({ unit: "grapheme" }));
    fc.assert(
      fc.property(fc.array(label), (entries) => {
        const labels = labelsOf([["__name__", "m"], ...new Map(entries)]);
        const turned = labelsOf([...new Map(entries), ["__name__", "m"] as const].reverse());
        expect(keyOf(parseSeries(writeSeries(labels)) ?? new Map())).toBe(keyOf(labels));
        expect(keyOf(turned)).toBe(keyOf(labels));
      }),
    );
  });
});
