import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { made } from "./checkers/made-history.js";
import { checkers, judge } from "./judgement.js";

describe("a judgement", () => {
  it("is passed by every checker that there is, each under a name of its own", () => {
    const files = readdirSync(new URL("./checkers", import.meta.url)).filter((file) => !file.endsWith(".test.ts"));
    const shared = ["groups.ts", "inversions.ts", "made-history.ts", "periods.ts"];
    expect(checkers).toHaveLength(files.length - shared.length);
    expect(new Set(checkers.map(({ name }) => name)).size).toBe(checkers.length);
  });

  it("names the checker of each violation", () => {
    const verdicts = judge(made({ kind: "elected" }, { kind: "elected", by: "b-1" }));
    const broken = verdicts.filter(({ violations }) => violations.length > 0);
    expect(broken.map(({ checker }) => checker.name)).toEqual(["epochs"]);
    for (const { checker, violations } of broken) {
      expect(new Set(violations.map((violation) => violation.checker))).toEqual(new Set([checker.name]));
    }
  });
});
