import { type Backoff, backoffMs } from "../../queue/core/backoff.js";
import type { JobState } from "./job.js";

/** What happens to a job makes of it. The same rules are written in SQL (migrations/0004_jobs.sql); one test holds them together. */

export interface Tries {
  /** Those that were begun, the one that runs included. */
  readonly attempts: number;
  readonly maxAttempts: number;
}

export type AttemptOutcome =
  | { readonly kind: "succeeded" }
  | { readonly kind: "failed"; readonly backoff: Backoff; readonly jitter: number }
  | { readonly kind: "failed_for_good" };

/** `waitMs`: for how long it is queued before it is ready; 0 where it is so at once, or not queued. */
export interface NextState {
  readonly state: JobState;
  readonly waitMs: number;
}

export function afterResult({ attempts, maxAttempts }: Tries, outcome: AttemptOutcome): NextState {
  switch (outcome.kind) {
    case "succeeded":
      return { state: "succeeded", waitMs: 0 };
    case "failed_for_good":
      return { state: "failed", waitMs: 0 };
    case "failed":
      if (attempts >= maxAttempts) return { state: "dead", waitMs: 0 };
      return { state: "queued", waitMs: backoffMs(attempts, outcome.backoff, outcome.jitter) };
  }
}

/** The lease ran out, or the attempt took too long. It costs the attempt, for what it did is not known. */
export function afterLoss({ attempts, maxAttempts }: Tries): JobState {
  return attempts >= maxAttempts ? "dead" : "queued";
}

/** So many nodes may die with the same job before it is it that is suspected. */
export const mostCrashes = 5;

/** The process that worked on it is gone. That costs no attempt, but a job must not fell one process after the other. */
export function afterCrash(crashesInARow: number, most: number): JobState {
  return crashesInARow >= most ? "dead" : "queued";
}

/** What is known of a job when a result for it comes. */
export interface Held {
  readonly state: JobState;
  /** That of its last lease, as are the next two, also where that has ended. */
  readonly jobEpoch: number;
  readonly leaseId: string | null;
  readonly agent: string | null;
  /** Of the last result that was accepted; 0 and null where none was. */
  readonly reportedEpoch: number;
  readonly reportedSuccess: boolean | null;
}

export interface Report {
  readonly jobEpoch: number;
  readonly leaseId: string;
  readonly agent: string;
  readonly success: boolean;
}

export type Verdict =
  | { readonly kind: "accepted" | "repeated" | "unknown" | "foreign" }
  | { readonly kind: "stale"; readonly expected: number };

/**
 * Whether a result counts. The epoch judges: a lease that is gone, for whatever reason, is followed by a higher one, which is
 * what is expected where nobody has the job now. The same result again is accepted again, and changes nothing.
 */
export function judgeReport(held: Held | null, report: Report): Verdict {
  if (held === null) return { kind: "unknown" };
  const { state, jobEpoch, leaseId, agent, reportedEpoch, reportedSuccess } = held;
  if (jobEpoch === report.jobEpoch && leaseId !== null) {
    if (leaseId !== report.leaseId || agent !== report.agent) return { kind: "foreign" };
    if (state === "leased") return { kind: "accepted" };
  }
  if (reportedEpoch === report.jobEpoch && reportedSuccess === report.success) return { kind: "repeated" };
  return { kind: "stale", expected: state === "leased" ? jobEpoch : jobEpoch + 1 };
}
