import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { memoryHarness, postgresHarness, type StoreHarness } from "./harness.js";
import { type QueueAct, QueueSide } from "./queue-side.js";

/**
 * The SQL of the queue says the same as the store in memory: whatever its leaders do in whatever order, both answer alike.
 * Times are chosen so that no answer hangs on some milliseconds.
 */
const lane = fc.nat({ max: 2 });
const head = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("ready" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("retry" as const),
      attempts: fc.nat({ max: 4 }),
      waitMs: fc.constantFrom(0, 8_000),
      error: fc.constant("boom"),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("blocked" as const),
      attempts: fc.nat({ max: 4 }),
      error: fc.constant("stuck"),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("dead" as const),
      attempts: fc.nat({ max: 4 }),
      error: fc.constant("dead"),
    }),
  },
);

const act: fc.Arbitrary<QueueAct> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("open" as const), lane }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("append" as const),
      lane,
      count: fc.integer({ min: 1, max: 3 }),
      keyed: fc.boolean(),
      skip: fc.constantFrom(0, 0, 0, 0, 0, 0, 1, -1, -2),
      waking: fc.boolean(),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("claim" as const),
      lanes: fc.uniqueArray(lane, { minLength: 1 }),
      limit: fc.integer({ min: 1, max: 4 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("settle" as const),
      lanes: fc.uniqueArray(lane, { minLength: 1 }),
      progress: fc.constantFrom(0, 1, 1, 2, 3, -1),
      behind: fc.constantFrom(0, 0, 0, 0, 1),
      keeps: fc.boolean(),
      head,
      produces: fc.option(lane),
      collides: fc.constantFrom(false, false, true),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("renew" as const), lane }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("sweep" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("rest" as const), lane }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("pause" as const), lane, paused: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("skip" as const), lane }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("takeSteered" as const) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("redrive" as const), letter: fc.nat({ max: 1 }), lane }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("openSegment" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("dropSegments" as const), closedForMs: fc.constantFrom(0, 10_000) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.constantFrom(5_000, 25_000) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("takeOver" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("recover" as const), own: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("writeLate" as const), lane }) },
);

describe("the queues of the two stores", () => {
  let harnesses: StoreHarness[];
  let memory: QueueSide;
  let postgres: QueueSide;

  beforeAll(async () => {
    harnesses = [await memoryHarness(), await postgresHarness()];
    memory = await QueueSide.open(harnesses[0] as StoreHarness);
    postgres = await QueueSide.open(harnesses[1] as StoreHarness);
  });

  afterAll(async () => {
    memory.close();
    postgres.close();
    for (const harness of harnesses) await harness[Symbol.asyncDispose]();
  });

  it("answer alike, whatever their leaders do", { timeout: 600_000 }, async () => {
    const run = process.env.HOLDFAST_LONG === "1" ? { numRuns: 80, seed: 4 } : { numRuns: 30, seed: 4 };
    // A failure is made small for a while, and then told.
    const limits = { interruptAfterTimeLimit: 500_000, markInterruptAsFailure: true };
    const seen = new Set<string>();
    const alike = fc.asyncProperty(fc.array(act, { minLength: 40, maxLength: 70, size: "max" }), async (script) => {
      await memory.begin();
      await postgres.begin();
      for (const each of script) {
        const expected = await memory.do(each);
        seen.add(`${each.kind} ${expected.gist}`);
        expect(await postgres.do(each)).toEqual(expected);
      }
    });
    await fc.assert(alike, { ...run, ...limits });
    for (const outcome of ["append some", "claim some", "claim none", "settle none", "settle some", "sweep some"]) {
      expect(seen).toContain(outcome);
    }
    for (const outcome of [
      "skip skipped",
      "skip not_blocked",
      "takeSteered some",
      "takeSteered none",
      "redrive some",
      "redrive none",
      "dropSegments some",
      "takeOver quarantined",
      "settle REFUSED",
    ]) {
      expect(seen).toContain(outcome);
    }
    expect([...seen].filter((outcome) => outcome.startsWith("writeLate"))).toEqual(["writeLate STALE_EPOCH"]);
  });
});
