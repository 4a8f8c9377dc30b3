import { describe, expect, it } from "vitest";
import { type AnyTold, foundBy } from "./made-history.js";
import { resources } from "./resources.js";

const found = (...told: readonly AnyTold[]) => foundBy(resources, ...told);
const baseline: AnyTold = { kind: "resources", descriptors: 30, sessions: 5, heapBytes: 40e6, rssBytes: 120e6 };

describe("resources", () => {
  it("are back where they were, or nearly", () => {
    expect(found(baseline, { ...baseline, when: "after", descriptors: 34, heapBytes: 60e6 })).toBe("");
  });

  it("are not given back", () => {
    const after = { ...baseline, when: "after" } as const;
    expect(found(baseline, { ...after, descriptors: 60 })).toContain("a-1 has 60 descriptors in the end, and had 30");
    expect(found(baseline, { ...after, sessions: 20 })).toContain("20 sessions");
    expect(found(baseline, { ...after, heapBytes: 400e6 })).toContain("heapBytes");
    expect(found(baseline, { ...after, rssBytes: 900e6 })).toContain("rssBytes");
  });

  it("may be those of a leader, whoever leads by now", () => {
    const leader: AnyTold = { ...baseline, of: "b-1", descriptors: 60 };
    expect(found(baseline, leader, { ...baseline, when: "after", descriptors: 62 })).toBe("");
    expect(found(baseline, leader, { ...baseline, when: "after", descriptors: 90 })).toContain("and had 60");
  });

  it("are not those of a leader for each of them", () => {
    const all = (when: "baseline" | "after", ...each: readonly number[]): readonly AnyTold[] =>
      each.map((descriptors, index) => ({ kind: "resources", when, of: `${"abc"[index]}-1`, descriptors }));
    expect(found(...all("baseline", 120, 45, 40), ...all("after", 40, 45, 118))).toBe("");
    expect(found(...all("baseline", 120, 45, 40), ...all("after", 60, 80, 60))).toBe("");
    const leaked = found(...all("baseline", 120, 45, 40), ...all("after", 118, 100, 100));
    expect(leaked).toBe("on an average there are 106 descriptors in the end, and were 68");
  });

  it("of a process that took another's place are compared with those of the others", () => {
    expect(found(baseline, { kind: "resources", when: "after", of: "a-2", descriptors: 60 })).toContain("a-2 has 60");
    expect(found(baseline, { kind: "resources", when: "after", of: "a-2", descriptors: 31 })).toBe("");
  });
});
