import type { Checker, Violation } from "../checker.js";
import type { ResourceEvent } from "../history.js";

const name = "resources";

type Measure = "descriptors" | "sessions" | "heapBytes" | "rssBytes";

/**
 * How much more there may be afterwards: what a process keeps ready differs a little from moment to moment, and memory of a program
 * that has worked is not that of one that has just begun. A leak grows with every fault and goes past this.
 */
const allowances: Readonly<Record<Measure, (baseline: number) => number>> = {
  descriptors: (baseline) => baseline + 12,
  // A pool closes after half a minute what it does not use: two standbys may have led shortly before the end.
  sessions: (baseline) => baseline + 14,
  heapBytes: (baseline) => baseline * 1.5 + 48 * 2 ** 20,
  rssBytes: (baseline) => baseline * 1.5 + 128 * 2 ** 20,
};
const measures = Object.keys(allowances) as readonly Measure[];

export const resources: Checker = {
  name,
  promise: "When all is over, memory, descriptors and sessions are back where they were.",
  check(history) {
    const events = history.filter((event) => event.kind === "resources");
    const baselines = events.filter(({ when }) => when === "baseline");
    const after = events.filter(({ when }) => when === "after");
    return measures.flatMap((measure) => [
      ...grown(measure, after, baselines),
      ...grownTogether(measure, after, baselines),
    ]);
  },
};

type Seen = readonly ResourceEvent[];

/** Whoever leads has more open than a standby, and who leads changes: each is held to the most that one had in the beginning. */
function grown(measure: Measure, after: Seen, baselines: Seen): readonly Violation[] {
  const most = Math.max(...valuesOf(measure, baselines));
  return after.flatMap(({ of, at, [measure]: value }): Violation[] => {
    if (value === undefined || !Number.isFinite(most) || value <= allowances[measure](most)) return [];
    return [{ checker: name, at, text: `${of} has ${value} ${measure} in the end, and had ${most}` }];
  });
}

/** Whoever leads, all of them together have as much: what a standby leaks is not hidden by what a leader may have. */
function grownTogether(measure: Measure, after: Seen, baselines: Seen): readonly Violation[] {
  const [now, then] = [valuesOf(measure, after), valuesOf(measure, baselines)];
  if (now.length === 0 || now.length !== then.length || meanOf(now) <= allowances[measure](meanOf(then))) return [];
  const text = `on an average there are ${meanOf(now).toFixed(0)} ${measure} in the end, and were ${meanOf(then).toFixed(0)}`;
  return [{ checker: name, at: Math.max(...after.map(({ at }) => at)), text }];
}

function valuesOf(measure: Measure, events: Seen): readonly number[] {
  return events.flatMap((event) => event[measure] ?? []);
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
