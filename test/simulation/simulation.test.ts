import { describe, expect, it } from "vitest";
import { Coverage } from "./coverage.js";
import { keptSeeds } from "./kept-seeds.js";
import { describeFailure, type Outcome, type RunOptions, runSeed } from "./run-seed.js";
import type { ThemeName } from "./themes.js";

/**
 * The simulator: whole clusters under faults, one seed after another, with every invariant checked at every step.
 * HOLDFAST_SEEDS says how many seeds run, HOLDFAST_SEED runs one and tells what happened in
 * it, with HOLDFAST_THEME under the faults of that theme.
 */
const seedCount = Number(process.env.HOLDFAST_SEEDS ?? 2_000);
const oneSeed = process.env.HOLDFAST_SEED;
const oneTheme = process.env.HOLDFAST_THEME as ThemeName | undefined;
/** One seed in this many is run twice, to see that it does the same. */
const rerunEvery = 50;

function failures(outcomes: readonly Outcome[], options: RunOptions = {}): string {
  const failed = outcomes.filter(({ violation }) => violation !== null);
  const first = failed.slice(0, 3).map((outcome) => describeFailure(outcome, options));
  return failed.length === 0 ? "" : `${failed.length} seeds failed\n\n${first.join("\n\n")}`;
}

describe.runIf(oneSeed !== undefined)("one seed", () => {
  it(`${oneSeed} keeps every invariant`, () => {
    const options = oneTheme === undefined ? {} : { theme: oneTheme };
    const outcome = runSeed(Number(oneSeed), { ...options, keepsLines: 10_000 });
    console.log(outcome.lines.join("\n"));
    expect(failures([outcome], options)).toBe("");
  });
});

describe.runIf(oneSeed === undefined)("simulated clusters", () => {
  it(`keep every invariant over ${seedCount} seeds, and every fault and every refusal happens`, {
    timeout: 1_800_000,
  }, () => {
    const coverage = new Coverage();
    const failed: Outcome[] = [];
    const started = performance.now();
    let events = 0;
    for (let seed = 1; seed <= seedCount; seed++) {
      const outcome = runSeed(seed, { coverage });
      events += outcome.events;
      if (outcome.violation !== null) failed.push(outcome);
      if (seed % rerunEvery === 0) expect(runSeed(seed).hash, `seed ${seed} run again`).toBe(outcome.hash);
    }
    const seconds = (performance.now() - started) / 1_000;
    console.log(
      `${coverage.table()}\n${seedCount} seeds, ${events} events, ${(seedCount / seconds).toFixed(0)} seeds/s`,
    );
    expect(failures(failed)).toBe("");
    if (seedCount >= 1_000) expect(coverage.gaps()).toEqual([]);
  });

  it.each(keptSeeds)("keep every invariant with seed $seed: $found", ({ seed, theme }) => {
    const options = theme === undefined ? {} : { theme };
    expect(failures([runSeed(seed, options)], options)).toBe("");
  });

  it("do overlap where a firewall resets both sessions of a leader behind its back and there is no grace", () => {
    const broken = firstSeed((seed) => runSeed(seed, { theme: "forged_resets" }).violation?.invariant === "G3");
    expect(broken, "G3 states this limit, so it has to be real").not.toBeNull();
  });
});

function firstSeed(isIt: (seed: number) => boolean): number | null {
  for (let seed = 1; seed <= 500; seed++) if (isIt(seed)) return seed;
  return null;
}
