import { describe, expect, it } from "vitest";
import { runSeed } from "./run-seed.js";
import { queueSabotages } from "./sabotages.js";

/** A simulator that finds nothing proves nothing: with one rule broken, it has to find that. */
const mostSeeds = 150;

describe.runIf(process.env.HOLDFAST_SEED === undefined)("a broken queue is caught", () => {
  it.each(queueSabotages)("$name, by $caughtBy", { timeout: 120_000 }, async ({ name, caughtBy, hooks, theme }) => {
    for (let seed = 1; seed <= mostSeeds; seed++) {
      const { violation } = await runSeed(seed, { hooks: hooks(), theme });
      if (violation?.rule !== caughtBy) continue;
      console.log(`${name}: ${violation.message}, after ${seed} seeds of "${theme}"`);
      return;
    }
    expect.fail(`${mostSeeds} seeds did not notice`);
  });
});
