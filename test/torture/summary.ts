import type { Violation } from "./checker.js";
import { gapsOf, lengthOf } from "./checkers/leaderless.js";
import type { FaultKind, HistoryEvent } from "./history.js";

/** What is kept of a run: docs/torture has those of the last ones. */
export interface Summary {
  readonly seed: number;
  readonly commit: string;
  readonly minutes: number;
  readonly machine: string;
  /** How often each fault happened. */
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
  /** At which named points processes were told to stop or to die. */
  readonly points: Readonly<Record<string, number>>;
  /** Faults that this machine does not allow for. */
  readonly impossible: readonly FaultKind[];
  readonly rejections: Readonly<Record<string, number>>;
  /** Events by their kind, those with an outcome by that as well. */
  readonly counts: Readonly<Record<string, number>>;
  /** Longest time without a leader, of any role, faults and all. */
  readonly longest_gap_ms: number;
  /** What should have happened and did not, and so was not tried. */
  readonly missing: readonly string[];
  readonly violations: readonly Violation[];
}

export interface Findings {
  readonly history: readonly HistoryEvent[];
  readonly wanted: readonly FaultKind[];
  readonly impossible: readonly FaultKind[];
  /** Rejections that this choice of faults must bring about. */
  readonly rejections: readonly string[];
  readonly machine: string;
  readonly violations: readonly Violation[];
}

export function summarize({ history, wanted, impossible, rejections, machine, violations }: Findings): Summary {
  const run = history.find((event) => event.kind === "run");
  const faults = countBy(history, (event) => (event.kind === "fault" && event.phase === "begin" ? event.fault : null));
  // Whoever is refused something tells it beside the event that has this outcome.
  const refused = countBy(history, (event) => (event.kind === "rejection" ? event.code : null));
  const missing = [
    ...wanted.filter((kind) => !impossible.includes(kind) && faults[kind] === undefined).map((kind) => `fault ${kind}`),
    ...missingRejections(history, rejections).map((code) => `rejection ${code}`),
  ];
  return {
    seed: run?.seed ?? 0,
    commit: run?.commit ?? "",
    minutes: run?.minutes ?? 0,
    machine,
    faults,
    points: countBy(history, (event) =>
      event.kind === "fault" && event.phase === "begin" ? (event.point ?? null) : null,
    ),
    impossible,
    rejections: refused,
    counts: countBy(history, (event) => ("outcome" in event ? `${event.kind} ${event.outcome}` : event.kind)),
    longest_gap_ms: Math.round(Math.max(0, ...gapsOf(history).map(lengthOf))),
    missing,
    violations,
  };
}

export function missingRejections(history: readonly HistoryEvent[], expected: readonly string[]): readonly string[] {
  const seen = new Set(history.flatMap((event) => (event.kind === "rejection" ? [event.code] : [])));
  return expected.filter((code) => !seen.has(code));
}

function countBy<Name extends string>(
  history: readonly HistoryEvent[],
  nameOf: (event: HistoryEvent) => Name | null,
): Readonly<Record<Name, number>> {
  const counts = new Map<Name, number>();
  for (const event of history) {
    const name = nameOf(event);
    if (name !== null) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const sorted = [...counts].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(sorted) as Record<Name, number>;
}
