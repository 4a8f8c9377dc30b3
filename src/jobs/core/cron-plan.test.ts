import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { inTimeMs, type MissedPolicy, mostCounted, planFiring } from "./cron-plan.js";
import { nextTick, openSchedule, type Schedule } from "./cron-schedule.js";

const minuteMs = 60_000;
const noon = Date.parse("2026-06-01T12:00:00Z");

function schedule(text: string): Schedule {
  const opened = openSchedule(text, "UTC");
  if (opened.kind === "refused") throw new Error(opened.reason);
  return opened.schedule;
}

const hourly = schedule("0 * * * *");
const marksOf = (policy: MissedPolicy, lastTick: number, now: number, of = hourly): readonly object[] => {
  const plan = planFiring({ schedule: of, policy, lastTick }, now);
  return plan.kind === "due" ? plan.marks : [];
};
const hoursAgo = (hours: number): number => noon - hours * 60 * minuteMs;

describe("what is due", () => {
  it("is nothing before the next tick, which is told", () => {
    expect(planFiring({ schedule: hourly, policy: { kind: "coalesce" }, lastTick: hoursAgo(1) }, noon - 1)).toEqual({
      kind: "wait",
      next: noon,
    });
  });

  it("is the tick itself from its very instant on, by every policy", () => {
    for (const policy of [{ kind: "skip" }, { kind: "coalesce" }, { kind: "catch_up", max: 3 }] as const) {
      expect(marksOf(policy, hoursAgo(1), noon)).toEqual([{ tick: noon, kind: "fired", missed: 0 }]);
    }
  });

  it("is one job for all that was missed, with coalesce, however late", () => {
    expect(marksOf({ kind: "coalesce" }, hoursAgo(5), noon + 50 * minuteMs)).toEqual([
      { tick: noon, kind: "coalesced", missed: 4 },
    ]);
  });

  it("is no job, with skip, where the newest tick is late, and the newest alone where it is not", () => {
    expect(marksOf({ kind: "skip" }, hoursAgo(5), noon + inTimeMs + 1)).toEqual([
      { tick: noon, kind: "skipped", missed: 4 },
    ]);
    expect(marksOf({ kind: "skip" }, hoursAgo(5), noon + inTimeMs)).toEqual([{ tick: noon, kind: "fired", missed: 4 }]);
  });

  it("is one job each, with catch_up, and the oldest make way where there are too many", () => {
    expect(marksOf({ kind: "catch_up", max: 2 }, hoursAgo(5), noon)).toEqual([
      { tick: hoursAgo(1), kind: "fired", missed: 3 },
      { tick: noon, kind: "fired", missed: 0 },
    ]);
    expect(marksOf({ kind: "catch_up", max: 100 }, hoursAgo(3), noon)).toHaveLength(3);
  });

  it("is found at once after years of absence, and what was missed is counted only so far", () => {
    const secondly = schedule("* * * * * *");
    expect(marksOf({ kind: "catch_up", max: 3 }, noon - 3 * 365 * 24 * 60 * minuteMs, noon, secondly)).toEqual([
      { tick: noon - 2_000, kind: "fired", missed: mostCounted },
      { tick: noon - 1_000, kind: "fired", missed: 0 },
      { tick: noon, kind: "fired", missed: 0 },
    ]);
  });

  it("is found at once also where a time of many ticks ended long ago", () => {
    const springSeconds = schedule("* * * * 1-5 *");
    const lastOfMay = Date.parse("2026-05-31T23:59:59Z");
    const started = performance.now();
    const december = Date.parse("2026-12-10T00:00:00Z");
    expect(marksOf({ kind: "catch_up", max: 2 }, Date.parse("2025-12-10T00:00:00Z"), december, springSeconds)).toEqual([
      { tick: lastOfMay - 1_000, kind: "fired", missed: mostCounted },
      { tick: lastOfMay, kind: "fired", missed: 0 },
    ]);
    expect(performance.now() - started).toBeLessThan(2_000);
  });

  it("are the newest ones, wherever the last look was", () => {
    const text = fc.constantFrom("* * * * 6 *", "*/11 3 * * * *", "0 0 1 * *", "*/5 * 2-4 * * SUN");
    fc.assert(
      fc.property(
        text,
        fc.integer({ min: 1, max: 40 * 24 * 60 }),
        fc.integer({ min: 1, max: 9 }),
        (expression, minutes, max) => {
          const of = schedule(expression);
          const ticks: number[] = [];
          const since = noon - minutes * minuteMs;
          for (let tick = nextTick(of, since); tick! <= noon; tick = nextTick(of, tick!)) ticks.push(tick!);
          const marks = marksOf({ kind: "catch_up", max }, since, noon, of) as readonly { readonly tick: number }[];
          expect(marks.map(({ tick }) => tick)).toEqual(ticks.slice(-max));
        },
      ),
      { numRuns: 40 },
    );
  });

  it("accounts for every tick once, wherever the looks fall", () => {
    const policy = fc.oneof(
      fc.constant<MissedPolicy>({ kind: "skip" }),
      fc.constant<MissedPolicy>({ kind: "coalesce" }),
      fc.record({ kind: fc.constant("catch_up" as const), max: fc.integer({ min: 1, max: 20 }) }),
    );
    const text = fc.constantFrom("*/7 * * * *", "0 */2 * * *", "*/20 2 * * *", "*/25 * * * * *");
    const pauses = fc.array(fc.integer({ min: 1, max: 7 * 60 * minuteMs }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(policy, text, pauses, (rule, expression, looks) => {
        const of = schedule(expression);
        let lastTick = noon;
        let now = noon;
        let accounted = 0;
        for (const pause of looks) {
          now += pause;
          const plan = planFiring({ schedule: of, policy: rule, lastTick }, now);
          if (plan.kind === "wait") continue;
          for (const mark of plan.marks) accounted += 1 + mark.missed;
          lastTick = plan.marks.at(-1)!.tick;
        }
        let expected = 0;
        for (let tick = nextTick(of, noon); tick! <= now; tick = nextTick(of, tick!)) expected += 1;
        expect(accounted).toBe(expected);
      }),
    );
  });
});
