import { describe, expect, it } from "vitest";
import { runSeed } from "./run-seed.js";
import { sabotagedDatabases } from "./sabotaged-database.js";
import { sabotagedElectors } from "./sabotaged-elector.js";
import { sabotagedRules } from "./sabotaged-rules.js";

const sabotages = [...sabotagedRules, ...sabotagedDatabases, ...sabotagedElectors];

/** A simulator that finds nothing proves nothing: with one rule broken, it has to find that. */
const mostSeeds = 3_000;

describe.runIf(process.env.HOLDFAST_SEED === undefined)("a broken protocol is caught", () => {
  it.each(sabotages)("$name, by $caughtBy", { timeout: 120_000 }, ({ name, caughtBy, hooks, theme }) => {
    for (let seed = 1; seed <= mostSeeds; seed++) {
      const { violation } = runSeed(seed, { hooks, theme });
      if (violation?.invariant !== caughtBy) continue;
      console.log(`${name}: ${caughtBy} after ${seed} seeds of "${theme}"`);
      return;
    }
    expect.fail(`${mostSeeds} seeds did not notice`);
  });
});
