import type { HistoryEvent } from "./history.js";

/** A promise that was broken, with the events that show it. */
export interface Violation {
  readonly checker: string;
  readonly text: string;
  /** Where on the timeline. */
  readonly at: number;
}

/** Pure: a whole history comes in, in the order of its lines, and what it breaks comes out. */
export interface Checker {
  readonly name: string;
  /** The promise, for whoever reads the report. */
  readonly promise: string;
  check(history: readonly HistoryEvent[]): readonly Violation[];
}
