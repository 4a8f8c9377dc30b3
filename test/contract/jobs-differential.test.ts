import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { memoryHarness, postgresHarness, type StoreHarness } from "./harness.js";
import { type JobAct, JobSide, type JobTurn } from "./job-side.js";

/**
 * The SQL of the jobs says the same as the store in memory, which asks the rules in src/jobs/core: whatever callers ask for in
 * whatever order, both answer alike. Times are chosen so that no answer hangs on some seconds.
 */
const job = fc.nat({ max: 5 });
const agent = fc.nat({ max: 1 });

const act: fc.Arbitrary<JobAct> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("submit" as const),
      job,
      key: fc.option(fc.nat({ max: 2 }), { freq: 3 }),
      priority: fc.nat({ max: 3 }),
      demand: fc.constantFrom(0, 0, 0, 1, 2, 3),
      later: fc.constantFrom(false, false, false, false, true),
      maxAttempts: fc.integer({ min: 1, max: 3 }),
      timeoutMs: fc.constantFrom(150_000, 3_600_000),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("lease" as const),
      agent,
      skilled: fc.boolean(),
      maxTasks: fc.integer({ min: 1, max: 3 }),
      again: fc.option(fc.nat({ max: 1 }), { freq: 2 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("result" as const),
      job,
      behind: fc.constantFrom(0, 0, 0, 0, 1, -1),
      astray: fc.constantFrom(false, false, false, false, true),
      outcome: fc.constantFrom("succeeded" as const, "failed" as const, "failed" as const, "failed_for_good" as const),
      waits: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom("renew" as const, "give_back" as const),
      lease: fc.nat({ max: 2 }),
      agent: fc.option(agent),
      job,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom("cancel" as const, "redrive" as const, "redrive" as const), job }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("heartbeat" as const), agent, registers: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("remove_agent" as const), agent }) },
);

const turn: fc.Arbitrary<JobTurn> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ kind: fc.constant("apply" as const), acts: fc.array(act, { minLength: 1, maxLength: 8 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("ripen" as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.constantFrom(50_000, 100_000, 250_000) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("compact" as const),
      from: fc.nat({ max: 2 }),
      olderThanMs: fc.constantFrom(0, 100_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("takeOver" as const, "writeLate" as const) }) },
);

/** What has to have been seen, or the scripts prove nothing. */
const outcomes = [
  "submit created",
  "submit existing",
  "lease leased",
  "lease none",
  "lease foreign",
  "lease deleted",
  "result accepted",
  "result accepted again",
  "result stale",
  "result foreign",
  "result unknown",
  "renew renewed",
  "renew unknown",
  "renew foreign",
  "give_back given_back",
  "give_back given_back nothing",
  "cancel cancelled",
  "cancel finished",
  "cancel unknown",
  "redrive redriven",
  "redrive unneeded",
  "redrive unknown",
  "heartbeat seen",
  "heartbeat deleted",
  "remove_agent removed",
  "remove_agent unknown",
  "ripened",
  "lost queued",
  "lost dead",
  "compacted",
  "late STALE_EPOCH",
];

describe("the jobs of the two stores", () => {
  let harnesses: StoreHarness[];
  let memory: JobSide;
  let postgres: JobSide;

  beforeAll(async () => {
    harnesses = [await memoryHarness(), await postgresHarness()];
    memory = await JobSide.open(harnesses[0] as StoreHarness);
    postgres = await JobSide.open(harnesses[1] as StoreHarness);
  });

  afterAll(async () => {
    memory.close();
    postgres.close();
    for (const harness of harnesses) await harness[Symbol.asyncDispose]();
  });

  it("answer alike, whatever is asked of their leaders", { timeout: 600_000 }, async () => {
    const run = process.env.HOLDFAST_LONG === "1" ? { numRuns: 150, seed: 1_776_361_918 } : { numRuns: 25, seed: 5 };
    // A failure is made small for a while, and then told.
    const limits = { interruptAfterTimeLimit: 500_000, markInterruptAsFailure: true };
    const seen = new Set<string>();
    const alike = fc.asyncProperty(fc.array(turn, { minLength: 20, maxLength: 40, size: "max" }), async (script) => {
      await memory.begin();
      await postgres.begin();
      for (const each of script) {
        const expected = await memory.do(each);
        for (const gist of expected.gists) seen.add(gist);
        expect(await postgres.do(each)).toEqual(expected);
      }
    });
    await fc.assert(alike, { ...run, ...limits });
    for (const outcome of outcomes) expect(seen).toContain(outcome);
  });
});
