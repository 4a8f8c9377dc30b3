import type { FaultKind, HistoryEvent } from "../history.js";

/** A stretch of the run, in milliseconds of its clock. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

export interface FaultPeriod extends Period {
  readonly fault: FaultKind;
  readonly number: number;
  readonly on: string;
}

/** Faults that let a process stand still between two of its instructions. */
const stalls: ReadonlySet<FaultKind> = new Set(["freeze", "freeze_in_transaction", "block_loop"]);

/** What waits for a process to wake, or for a packet to be sent once more, comes within this after the fault is over. */
const longestDelayMs = 30_000;
/** What a process had in its sockets when it woke is on record by then. */
const toldWithinMs = 1_000;

/** From its beginning to its end; one that never ended lasts for ever. */
export function faultPeriodsOf(history: readonly HistoryEvent[]): readonly FaultPeriod[] {
  const periods = new Map<number, FaultPeriod>();
  for (const event of history) {
    if (event.kind !== "fault") continue;
    const { fault, number, on, phase, at } = event;
    const known = periods.get(number);
    if (phase === "end" && known !== undefined) periods.set(number, { ...known, to: at });
    else periods.set(number, { fault, number, on, from: at, to: phase === "end" ? at : Number.POSITIVE_INFINITY });
  }
  return [...periods.values()].toSorted((one, other) => one.from - other.from);
}

export function stallsOf(history: readonly HistoryEvent[]): readonly FaultPeriod[] {
  return faultPeriodsOf(history).filter(({ fault }) => stalls.has(fault));
}

/**
 * Faults after which something that a leader had begun in time can come late: a process stood still right before it wrote, or what it
 * wrote could not get through, and is sent once more when the way is free.
 */
export function delaysOf(history: readonly HistoryEvent[]): readonly FaultPeriod[] {
  return faultPeriodsOf(history).filter(({ fault }) => stalls.has(fault) || fault === "partition");
}

/** Whether what came at this time can have been held up by the fault. */
export function mayDelay({ from, to }: Period, at: number): boolean {
  return from <= at && at <= to + longestDelayMs;
}

/**
 * What was acknowledged in such a period may be gone, and what was finished in it may come again: a replica took over that had not
 * heard of it (G4, G5 and G7 assume that PostgreSQL keeps its acknowledged commits).
 */
export function lostPeriodsOf(history: readonly HistoryEvent[]): readonly Period[] {
  const ends = new Map(faultPeriodsOf(history).map(({ number, to }) => [number, to]));
  return history.flatMap((event) =>
    event.kind === "fault" && event.lostFrom !== undefined
      ? [{ from: event.lostFrom, to: ends.get(event.number) ?? Number.POSITIVE_INFINITY }]
      : [],
  );
}

/** The same as told by this process: one that stood still at the end had heard of what is lost, and tells it when it wakes. */
export function lostPeriodsAsToldBy(process: string, history: readonly HistoryEvent[]): readonly Period[] {
  const own = stallsOf(history).filter(({ on }) => placesOf(on).includes(placeOf(process)));
  return lostPeriodsOf(history).map(({ from, to }) => {
    const across = own.filter((stall) => stall.from <= to && to <= stall.to);
    return { from, to: Math.max(to, ...across.map((stall) => stall.to + toldWithinMs)) };
  });
}

export function meets(periods: readonly Period[], { from, to }: Period): boolean {
  return periods.some((period) => period.from <= to && period.to >= from);
}

export function isWithin(periods: readonly Period[], at: number): boolean {
  return meets(periods, { from: at, to: at });
}

/** "a" of the process "a-2", which is the second in its place. */
export function placeOf(process: string): string {
  return process.replace(/-\d+$/, "");
}

/** A fault may have to do with several processes. */
export function placesOf(on: string): readonly string[] {
  return on.split(",").map(placeOf);
}
