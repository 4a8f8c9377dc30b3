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
  sessions: (baseline) => baseline + 6,
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
    return events.filter(({ when }) => when === "after").flatMap((after) => grown(after, baselines));
  },
};

/** Whoever leads has more open than a standby, and who leads changes: each is held to the most that one had in the beginning. */
function grown(after: ResourceEvent, baselines: readonly ResourceEvent[]): readonly Violation[] {
  return measures.flatMap((measure): Violation[] => {
    const value = after[measure];
    const known = baselines.flatMap((one) => one[measure] ?? []);
    if (value === undefined || known.length === 0) return [];
    const baseline = Math.max(...known);
    if (value <= allowances[measure](baseline)) return [];
    return [
      { checker: name, at: after.at, text: `${after.of} has ${value} ${measure} in the end, and had ${baseline}` },
    ];
  });
}
