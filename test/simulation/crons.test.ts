import { describe, expect, it } from "vitest";
import { almanac } from "./crons/almanac.js";
import type { CronRule } from "./crons/audit.js";
import { type Sabotage, simulateYear } from "./crons/simulated-year.js";

/**
 * A year of crons in three zones, with both changes of the clocks in each, over 200 failovers. Checked against an almanac
 * that was made without the code under test.
 */
const years = Math.max(2, Math.round(Number(process.env.HOLDFAST_SEEDS ?? 2_000) / 1_000));

describe("a simulated year of crons", () => {
  let firstTrace = "";

  it(`loses no tick and doubles none, by each policy's own rule, over ${years} years of 200 failovers each`, {
    timeout: 600_000,
  }, () => {
    const happened = new Map<string, number>();
    for (let seed = 1; seed <= years; seed += 1) {
      const outcome = simulateYear(seed);
      if (seed === 1) firstTrace = outcome.trace;
      expect({ seed, breach: outcome.breach }).toEqual({ seed, breach: null });
      for (const [what, times] of outcome.happened) happened.set(what, (happened.get(what) ?? 0) + times);
    }
    const failovers = ["crash", "stall", "clean"].map((kind) => happened.get(kind) ?? 0);
    expect(failovers.reduce((sum, times) => sum + times, 0)).toBe(years * 200);
    console.log([...happened].map(([what, times]) => `${what}: ${times}`).join(", "));
    // A simulation in which nothing goes wrong shows nothing.
    const faults = ["request lost", "request late", "reply lost", "unknown outcome", "long absence"];
    const refusals = ["answer: stale", "answer: changed", "answer: not_now"];
    expect([...faults, ...refusals].filter((what) => !happened.has(what))).toEqual([]);
  });

  it("has times in it that are jumped over, and times that come twice, in every zone", () => {
    const { changes, jumped, again } = almanac();
    expect(changes).toHaveLength(6);
    expect(jumped).toBeGreaterThanOrEqual(6);
    expect(again).toBeGreaterThanOrEqual(6);
  });

  it("goes the same way when it is run again", { timeout: 120_000 }, () => {
    const before = firstTrace === "" ? simulateYear(1).trace : firstTrace;
    expect(simulateYear(1).trace).toBe(before);
  });
});

const sabotages: readonly { readonly name: string; readonly faults: Sabotage; readonly caughtBy: CronRule }[] = [
  { name: "no compare-and-set", faults: { noCompareAndSet: true }, caughtBy: "doubled" },
  { name: "mark and enqueue in two transactions", faults: { twoTransactions: true }, caughtBy: "lost" },
  { name: "the node's clock instead of the database's", faults: { nodeClock: true, anyTime: true }, caughtBy: "early" },
  { name: "plans that never grow old", faults: { anyTime: true }, caughtBy: "clock" },
  { name: "the last tick taken from the time of the commit", faults: { lastTickFromNow: true }, caughtBy: "lost" },
  { name: "a leader that begins at its own start", faults: { startsFromNow: true }, caughtBy: "lost" },
];

describe("a broken scheduler is caught", () => {
  it.each(sabotages)("$name, as $caughtBy", { timeout: 300_000 }, ({ faults, caughtBy }) => {
    for (let seed = 1; seed <= 5; seed += 1) {
      const { breach } = simulateYear(seed, faults);
      if (breach?.rule !== caughtBy) continue;
      console.log(`${breach.message}, in year ${seed}`);
      return;
    }
    expect.fail("five years did not notice");
  });
});
