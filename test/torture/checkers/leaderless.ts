import type { Checker } from "../checker.js";
import type { FaultKind, HistoryEvent } from "../history.js";
import { groupBy } from "./groups.js";
import { type FaultPeriod, faultPeriodsOf, type Period, placeOf, placesOf } from "./periods.js";

const name = "leaderless";

/** A time in which nobody acted for a role. */
export interface Gap extends Period {
  readonly role: string;
  /** The longest part of it in which the database was there and somebody was whole, counted from the last fault that began or ended. */
  readonly unexcused: Period;
  /** All such parts together, and how many faults began meanwhile. */
  readonly unexcusedMs: number;
  readonly faults: number;
}

/** While these last there may be nobody to give the role, or nobody to be asked for it (G6 assumes that the database is there). */
const ofTheDatabase: ReadonlySet<FaultKind> = new Set([
  "slow_database",
  "restart_fast",
  "restart_immediate",
  "database_failover",
  "connections_exhausted",
  "disk_full",
]);
/** These take no leader away, so they excuse nothing. */
const harmless: ReadonlySet<FaultKind> = new Set(["duplicate_requests", "flood", "slow_clients"]);

/**
 * G6, by the gates: a role is led when somebody could act for it. A fault that comes before the last is over may cost another lease, of
 * one who had just been given the role. It costs no more than that, or a role that nobody takes would be excused for as long as there
 * are faults.
 */
export const leaderless: Checker = {
  name,
  promise: "A role is led again within a bounded time after a fault (G6).",
  check(history) {
    const run = history.find((event) => event.kind === "run");
    const { longestGapMs = Number.POSITIVE_INFINITY, ttlMs = 0 } = run ?? {};
    return gapsOf(history).flatMap(({ role, from, to, unexcused, unexcusedMs, faults }) => {
      const whole = `${role} was led by nobody for ${lengthOf({ from, to }).toFixed(0)} ms`;
      const say = (ms: number, why: string, mostMs: number) =>
        ms > mostMs
          ? [
              {
                checker: name,
                at: unexcused.from,
                text: `${whole}, ${ms.toFixed(0)} ms of it ${why}; ${mostMs} ms are the most`,
              },
            ]
          : [];
      const atOnce = say(lengthOf(unexcused), "without a reason", longestGapMs);
      if (atOnce.length > 0) return atOnce;
      return say(unexcusedMs, `without a reason, in parts, with ${faults} faults`, longestGapMs + faults * ttlMs);
    });
  },
};

/** Of every role, in the order of time; without those that are too short to be seen. */
export function gapsOf(history: readonly HistoryEvent[], leastMs = 250): readonly Gap[] {
  const faults = faultPeriodsOf(history).filter(({ fault }) => !harmless.has(fault));
  const places = new Set(history.flatMap((event) => (event.kind === "process" ? [placeOf(event.by)] : [])));
  const end = endOf(history);
  const sightings = history.flatMap((event) =>
    (event.kind === "gate" || event.kind === "elected") && event.at <= end ? [{ role: event.role, at: event.at }] : [],
  );
  return [...groupBy(sightings, ({ role }) => role)]
    .flatMap(([role, own]) => {
      const times = [...own.map(({ at }) => at).toSorted((one, other) => one - other), end];
      return times.flatMap((to, index): Gap[] => {
        const from = times[index - 1];
        if (from === undefined || to - from < leastMs) return [];
        return [{ role, from, to, ...unexcusedOf({ from, to }, faults, places.size) }];
      });
    })
    .toSorted((one, other) => one.from - other.from);
}

/** In the end all processes are told to stop: from the first one on, nobody needs to lead. */
function endOf(history: readonly HistoryEvent[]): number {
  const faultsOver = Math.max(0, ...history.flatMap((event) => (event.kind === "fault" ? [event.at] : [])));
  const stopped = history.find((event) => event.kind === "process" && event.what === "ended" && event.at > faultsOver);
  if (stopped !== undefined) return stopped.at;
  return history.reduce((last, { at }) => Math.max(last, at), 0);
}

function unexcusedOf(gap: Period, all: readonly FaultPeriod[], places: number) {
  const within = all.flatMap(({ from, to }) => [from, to]).filter((at) => at > gap.from && at < gap.to);
  const cuts = [gap.from, ...within.toSorted((one, other) => one - other), gap.to];
  let unexcused: Period = { from: gap.from, to: gap.from };
  let unexcusedMs = 0;
  for (const [index, to] of cuts.entries()) {
    const from = cuts[index - 1];
    if (from === undefined) continue;
    const active = all.filter((fault) => fault.from < to && fault.to > from);
    if (active.some(({ fault }) => ofTheDatabase.has(fault)) || hitBy(active).size >= Math.max(1, places)) continue;
    unexcusedMs += to - from;
    if (to - from > lengthOf(unexcused)) unexcused = { from, to };
  }
  const faults = all.filter(({ from }) => from > gap.from && from < gap.to).length;
  return { unexcused, unexcusedMs, faults };
}

function hitBy(active: readonly FaultPeriod[]): ReadonlySet<string> {
  return new Set(active.flatMap(({ on }) => placesOf(on)));
}

export function lengthOf({ from, to }: Period): number {
  return to - from;
}
