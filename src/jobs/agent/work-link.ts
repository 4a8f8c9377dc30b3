import type { HoldfastError } from "../../errors.js";
import type { DueRenewal } from "../core/agent/lease-book.js";
import type { Report, ReportAnswer } from "../core/agent/outbox.js";
import type { LeasedWork, RenewedLease } from "../core/agent/work.js";

/**
 * The way to whoever hands out the work. Nothing is thrown: what did not come is an answer too. Whoever asks in a loop does not
 * spin, for a way that leads nowhere takes its pause before it says so.
 */
export interface WorkLink {
  /** It lives. `registers`: the first word of a process. */
  beat(beat: WorkerBeat, signal: AbortSignal): Promise<LinkAnswer<null>>;
  /** Waits for work; "none" where none came in time. */
  lease(wish: WorkWish, signal: AbortSignal): Promise<LinkAnswer<LeasedWork | "none">>;
  renew(due: DueRenewal, signal: AbortSignal): Promise<LinkAnswer<RenewedLease>>;
  /** An answer for each, in their order. */
  report(reports: readonly Report[], signal: AbortSignal): Promise<LinkAnswer<readonly ReportAnswer[]>>;
  /** All that is still leased under it. */
  giveBack(leaseId: string, signal: AbortSignal): Promise<LinkAnswer<null>>;
  /** Looks whether a leader that lets its guests wait is still there. */
  probe(timeoutMs: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

export interface WorkerBeat {
  readonly version: string;
  readonly tasks: number;
  readonly registers: boolean;
}

export interface WorkWish {
  readonly maxTasks: number;
  readonly waitMs: number;
  /** How many tasks run, of how many that could. */
  readonly running: number;
  readonly places: number;
}

export type LinkAnswer<Answer> =
  | { readonly kind: "served"; readonly answer: Answer; readonly sentAt: number }
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  /** Ask again: the way to the leader is another by now, or the pause before the next try is over. */
  | { readonly kind: "again" }
  | { readonly kind: "called_off" }
  /** Nothing that is asked will be granted. */
  | { readonly kind: "hopeless"; readonly error: HoldfastError };

/** Refusals of a renewal that mean that the lease is not this worker's any more. */
export const leaseLosses: readonly string[] = ["NOT_FOUND", "STALE_EPOCH", "FORBIDDEN"];
/** What was sent is not taken as it is. */
export const complaints: readonly string[] = ["INVALID_REQUEST", "BAD_REQUEST", "BODY_TOO_LARGE"];
