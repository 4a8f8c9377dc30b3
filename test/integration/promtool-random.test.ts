import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { evaluate } from "../../src/alerts/core/evaluate.js";
import { isMissing } from "../support/programs.js";
import { compare } from "../support/promql-comparison.js";
import { scenes } from "../support/promql-scenes.js";

describe.skipIf(isMissing("promtool"))("conditions, many of them", { timeout: 180_000 }, () => {
  it.each([1, 2, 3, 4])("are what Prometheus says they are, by the seed %i", { timeout: 300_000 }, async (seed) => {
    const { answered, failed, differences } = await compare(fc.sample(scenes, { numRuns: 250, seed }), evaluate);
    expect(differences.slice(0, 5)).toEqual([]);
    expect(answered).toBeGreaterThan(1_500);
    expect(failed).toBeGreaterThan(50);
  });
});
