import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { evaluate } from "../../src/alerts/core/evaluate.js";
import { isMissing } from "../support/programs.js";
import { compare } from "../support/promql-comparison.js";
import { corpusAt, wrongCorpus, wrongExpressions } from "../support/promql-corpus.js";
import { scenes } from "../support/promql-scenes.js";

describe.skipIf(isMissing("promtool"))("a condition", { timeout: 180_000 }, () => {
  it("is what Prometheus says it is, for one of each thing that conditions may use", async () => {
    // At the last round, after an earlier one, between two, long after the last, and at the very first.
    const asked = corpusAt(355_000, 181_000, 203_777, 500_000, 0);
    const { answered, failed, differences } = await compare([asked], evaluate);
    expect(differences.slice(0, 5)).toEqual([]);
    expect(answered).toBeGreaterThan(900);
    expect(failed).toBeGreaterThan(40);
  });

  it("is refused where Prometheus refuses it", async () => {
    const { failed, differences } = await compare([wrongCorpus], evaluate);
    expect(differences).toEqual([]);
    expect(failed).toBe(wrongExpressions.length);
  });

  it("is what Prometheus says it is, over series and expressions drawn at random", async () => {
    const drawn = fc.sample(scenes, { numRuns: 50, seed: 7 });
    const { answered, failed, differences } = await compare(drawn, evaluate);
    expect(differences.slice(0, 5)).toEqual([]);
    expect(answered).toBeGreaterThan(300);
    expect(failed).toBeGreaterThan(10);
  });
});
