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
  // After a long absence there may be millions: they are looked for from the end, further and further back.
  let few = nowMs;
  let enough = Math.max(since, nowMs - inTimeMs);
  for (let reachMs = inTimeMs; enough > since && !hasTicks(schedule, enough, nowMs, limit); reachMs *= 4) {
    few = enough;
    enough = Math.max(since, nowMs - reachMs * 4);
  }
  // The last step back may have gone too far, into a time of many ticks: it is halved until there are not many.
  const most = 4 * limit + 1_000;
  for (;;) {
    const ticks = ticksAfter(schedule, enough, nowMs, most);
    if (ticks.length < most) return ticks.slice(-limit);
    const middle = Math.floor((enough + few) / 2);
    if (hasTicks(schedule, middle, nowMs, limit)) enough = middle;
    else few = middle;
  }
}

const hasTicks = (schedule: Schedule, from: number, nowMs: number, count: number): boolean =>
  ticksAfter(schedule, from, nowMs, count).length === count;

/** The first ticks after an instant that are due, at most so many. */
function ticksAfter(schedule: Schedule, from: number, nowMs: number, most: number): readonly number[] {
  const ticks: number[] = [];
  let tick = nextTick(schedule, from);
  while (tick !== null && tick <= nowMs && ticks.length < most) {
    ticks.push(tick);
    tick = nextTick(schedule, tick);
  }
  return ticks;
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
