import { nextTick, type Schedule } from "./cron-schedule.js";

/** What happens to ticks that nobody was there for: no job, one for all of them, or one each, up to a limit. */
export type MissedPolicy =
  | { readonly kind: "skip" }
  | { readonly kind: "coalesce" }
  | { readonly kind: "catch_up"; readonly max: number };

/** A cron as the leader plans it. */
export interface PlannedCron {
  readonly schedule: Schedule;
  readonly policy: MissedPolicy;
  /** Everything up to here has been decided on. */
  readonly lastTick: number;
}

/** What becomes of a tick. `missed`: how many others before it get no job, as far as they were counted. */
export interface TickMark {
  readonly tick: number;
  readonly kind: "fired" | "coalesced" | "skipped";
  readonly missed: number;
}

export type FiringPlan =
  /** `next` is null where no tick will come any more. */
  | { readonly kind: "wait"; readonly next: number | null }
  /** In rising order; the last is the newest tick that is due, and what `lastTick` becomes. */
  | { readonly kind: "due"; readonly marks: readonly TickMark[] };

/** With `skip`, a tick that is found no later than this is in time: a failover costs nothing. */
export const inTimeMs = 60_000;

/** Missed ticks are counted up to here. */
export const mostCounted = 10_000;

/** What is due by the database's clock. */
export function planFiring({ schedule, policy, lastTick }: PlannedCron, nowMs: number): FiringPlan {
  const first = nextTick(schedule, lastTick);
  if (first === null || first > nowMs) return { kind: "wait", next: first };
  const kept = newestTicks(schedule, lastTick, nowMs, policy.kind === "catch_up" ? policy.max : 1);
  const [oldest = first] = kept;
  const missed = countTicks(schedule, lastTick, oldest);
  switch (policy.kind) {
    case "catch_up":
      return { kind: "due", marks: kept.map((tick, n) => ({ tick, kind: "fired", missed: n === 0 ? missed : 0 })) };
    case "coalesce":
      return { kind: "due", marks: [{ tick: oldest, kind: missed > 0 ? "coalesced" : "fired", missed }] };
    case "skip": {
      const isInTime = nowMs - oldest <= inTimeMs;
      return { kind: "due", marks: [{ tick: oldest, kind: isInTime ? "fired" : "skipped", missed }] };
    }
  }
}

/** The newest of the ticks after `since` that are due, at most so many. There is one at least. */
function newestTicks(schedule: Schedule, since: number, nowMs: number, limit: number): readonly number[] {
  // After a long absence there may be millions: they are looked for from the end.
  for (let reachMs = inTimeMs; ; reachMs *= 4) {
    const from = Math.max(since, nowMs - reachMs);
    const ticks: number[] = [];
    for (let tick = nextTick(schedule, from); tick !== null && tick <= nowMs; tick = nextTick(schedule, tick)) {
      ticks.push(tick);
    }
    if (ticks.length >= limit || from === since) return ticks.slice(-limit);
  }
}

/** How many there are between the two. */
function countTicks(schedule: Schedule, since: number, before: number): number {
  let count = 0;
  let tick = nextTick(schedule, since);
  while (tick !== null && tick < before && count < mostCounted) {
    count += 1;
    tick = nextTick(schedule, tick);
  }
  return count;
}
