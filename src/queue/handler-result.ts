import type { SettledJournal } from "../store/journal.js";
import { failureReason } from "./core/failure-reason.js";
import { Journaled } from "./handler-call.js";
import type { Message, Produced } from "./message.js";
import { type IntakeBounds, readProduced } from "./produced.js";

/**
 * What became of a message at its handler. A function in this process can be told that its time is over, but not be ended.
 * So a result may come with `stillRunning`: the old call is still at work, and the lane must not begin another one until that
 * promise has resolved, or two would work on it at once (G5). The promise never rejects, and may never resolve.
 */
export type HandlerResult =
  | { readonly kind: "done"; readonly produced: readonly Produced[]; readonly journal: SettledJournal | null }
  | {
      readonly kind: "failed";
      readonly error: string;
      /** What was thrown says that no further attempt would help (`retry: false`). */
      readonly isFinal: boolean;
      /** What was thrown says that no attempt before this would help (`retryAfterMs`). */
      readonly retryAfterMs?: number | undefined;
      readonly stillRunning: Promise<void> | null;
    }
  /** Leadership ended first: whatever the handler did does not count, and no attempt is spent. */
  | { readonly kind: "abandoned"; readonly stillRunning: Promise<void> | null };

export interface Limits {
  readonly timeoutMs: number;
  readonly graceMs: number;
}

const longestRetryAfterMs = 86_400_000;

export function judged(value: unknown, options: IntakeBounds): HandlerResult {
  const journaled = value instanceof Journaled ? value : null;
  const read = readProduced(journaled === null ? value : journaled.produced, options);
  if (read.kind === "garbage") {
    // What modules of the engine return is a function of the message: it would be the same again, and hold its lane for ever.
    return { kind: "failed", error: read.reason, isFinal: journaled !== null, stillRunning: null };
  }
  return { kind: "done", produced: read.produced, journal: journaled?.journal ?? null };
}

export function failed(error: unknown, message: Message): HandlerResult {
  const isFinal = typeof error === "object" && error !== null && "retry" in error && error.retry === false;
  const told = { error: failureReason(error, message.body.toString()), isFinal, retryAfterMs: retryAfterOf(error) };
  return { kind: "failed", ...told, stillRunning: null };
}

function retryAfterOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("retryAfterMs" in error)) return undefined;
  const { retryAfterMs: ms } = error;
  return typeof ms === "number" && ms > 0 && ms <= longestRetryAfterMs ? ms : undefined;
}

export function tooLong(limits: Limits, stillRunning: Promise<void> | null): HandlerResult {
  const error = stillRunning === null ? tooLongText(limits) : `${tooLongText(limits)}, and still runs`;
  return { kind: "failed", error, isFinal: false, stillRunning };
}

export function tooLongText({ timeoutMs }: Limits): string {
  return `the handler took longer than ${timeoutMs} ms`;
}
