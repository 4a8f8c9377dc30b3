import type { Checker, Violation } from "./checker.js";
import { epochs } from "./checkers/epochs.js";
import { gates } from "./checkers/gates.js";
import { jobs } from "./checkers/jobs.js";
import { leaderless } from "./checkers/leaderless.js";
import { losses } from "./checkers/losses.js";
import { mllp } from "./checkers/mllp.js";
import { order } from "./checkers/order.js";
import { repetitions } from "./checkers/repetitions.js";
import { resources } from "./checkers/resources.js";
import { singleWriter } from "./checkers/single-writer.js";
import { sinks } from "./checkers/sinks.js";
import { streams } from "./checkers/streams.js";
import type { HistoryEvent } from "./history.js";

export const checkers: readonly Checker[] = [
  singleWriter,
  epochs,
  gates,
  sinks,
  losses,
  order,
  repetitions,
  jobs,
  mllp,
  streams,
  leaderless,
  resources,
];

export interface Verdict {
  readonly checker: Checker;
  readonly violations: readonly Violation[];
}

/** Every checker over the whole history. */
export function judge(history: readonly HistoryEvent[]): readonly Verdict[] {
  return checkers.map((checker) => ({ checker, violations: checker.check(history) }));
}
