import { describe, expect, it } from "vitest";
import { Coverage } from "./coverage.js";
import { keptSeeds } from "./kept-seeds.js";
import { describeFailure, type Outcome, type RunOptions, runSeed } from "./run-seed.js";
import { themeNames } from "./scenario.js";

/**
 * The queue as it ships, in a world where processes crash, freeze and are deposed, and where requests and replies are late,
 * get lost and commit after everybody has given them up. HOLDFAST_SEED runs one seed and tells what happened in it, with
 * HOLDFAST_THEME under that theme.
 */
const seedCount = Math.max(1, Math.round(Number(process.env.HOLDFAST_SEEDS ?? 2_000) / 6));
const oneSeed = process.env.HOLDFAST_SEED;
const oneTheme = themeNames.find((name) => name === process.env.HOLDFAST_THEME);
/** One seed in this many is run twice, to see that it does the same. */
const rerunEvery = 25;

async function failures(outcomes: readonly Outcome[], options: RunOptions = {}): Promise<string> {
  const failed = outcomes.filter(({ violation }) => violation !== null);
  const first: string[] = [];
  for (const outcome of failed.slice(0, 3)) first.push(await describeFailure(outcome, options));
  return failed.length === 0 ? "" : `${failed.length} seeds failed\n\n${first.join("\n\n")}`;
}

describe.runIf(oneSeed !== undefined)("one seed of the queue", () => {
  it(`${oneSeed} keeps every rule`, async () => {
    const options = oneTheme === undefined ? {} : { theme: oneTheme };
    const outcome = await runSeed(Number(oneSeed), { ...options, keepsLines: 10_000 });
    console.log(outcome.lines.join("\n"));
    expect(await failures([outcome], options)).toBe("");
  });
});

describe.runIf(oneSeed === undefined)("simulated queues", () => {
  it(`keep every rule over ${seedCount} seeds, and every fault and every refusal happens`, {
    timeout: 1_800_000,
  }, async () => {
    const coverage = new Coverage();
    const failed: Outcome[] = [];
    const started = performance.now();
    let events = 0;
    for (let seed = 1; seed <= seedCount; seed++) {
      const outcome = await runSeed(seed, { coverage });
      events += outcome.events;
      if (outcome.violation !== null) failed.push(outcome);
      if (seed % rerunEvery === 0) expect((await runSeed(seed)).hash, `seed ${seed} run again`).toBe(outcome.hash);
    }
    const seconds = (performance.now() - started) / 1_000;
    console.log(
      `${coverage.table()}\n${seedCount} seeds, ${events} events, ${(seedCount / seconds).toFixed(0)} seeds/s`,
    );
    expect(await failures(failed)).toBe("");
    if (seedCount >= 300) expect(coverage.gaps()).toEqual([]);
  });

  it.each(keptSeeds)("keep every rule with seed $seed: $found", async ({ seed, theme }) => {
    const options = theme === undefined ? {} : { theme };
    expect(await failures([await runSeed(seed, options)], options)).toBe("");
  });
});
