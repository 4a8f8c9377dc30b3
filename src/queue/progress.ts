import type { SettledJournal, StateWrite, StepLine } from "../store/journal.js";
import type { Settlement } from "../store/queue-contract.js";
import type { Incoming } from "./appender.js";
import type { Lane } from "./core/lane.js";

/** What a lane's handler has done since the last commit. */
export interface Progress {
  readonly lane: Lane;
  readonly claim: number;
  done: number;
  doneSegment: number | null;
  head: Settlement["head"];
  keeps: boolean;
  readonly produced: Incoming[];
  producedBytes: number;
  journal: PendingJournal | null;
  /** Those who want to know that it was committed, or never will be. */
  readonly waiters: (() => void)[];
}

/** What handlers have to tell: what they keep in the order in which they ended, whatever their lanes. */
interface PendingJournal {
  readonly steps: StepLine[];
  readonly state: { readonly order: number; readonly write: StateWrite }[];
}

export const ready: Settlement["head"] = { kind: "ready" };

export function noProgress(lane: Lane, claim: number): Progress {
  return {
    lane,
    claim,
    done: lane.reached,
    doneSegment: null,
    head: ready,
    keeps: true,
    produced: [],
    producedBytes: 0,
    journal: null,
    waiters: [],
  };
}

/** What a handler has to tell goes with its message's commit; what it keeps gets the next place in the order of all. */
export function enter(progress: Progress, { steps, state }: SettledJournal, nextOrder: () => number): void {
  progress.journal ??= { steps: [], state: [] };
  progress.journal.steps.push(...steps);
  for (const write of state) progress.journal.state.push({ order: nextOrder(), write });
}

/** To those who wait for these. */
export function tell(progresses: readonly Progress[]): void {
  for (const { waiters } of progresses) for (const wake of waiters.splice(0)) wake();
}

/** Whether its handlers have something to remember: that is written in order. */
export function keeps({ journal }: Progress): boolean {
  return journal !== null && journal.state.length > 0;
}

export const firstWrite = ({ journal }: Progress): number => journal?.state[0]?.order ?? Number.POSITIVE_INFINITY;
export const lastWrite = ({ journal }: Progress): number => journal?.state.at(-1)?.order ?? 0;

/** Undefined where nobody has anything to tell, which costs nothing. */
export function journalOf(settled: readonly Progress[]): SettledJournal | undefined {
  const journals = settled.flatMap(({ journal }) => journal ?? []);
  if (journals.length === 0) return undefined;
  const writes = journals.flatMap(({ state }) => state).sort((one, other) => one.order - other.order);
  return { steps: journals.flatMap(({ steps }) => steps), state: writes.map(({ write }) => write) };
}

export function settlementOf({ lane, claim, done, doneSegment, head, keeps }: Progress): Settlement {
  return { lane: lane.id, claim, done, doneSegment, head, keeps };
}
