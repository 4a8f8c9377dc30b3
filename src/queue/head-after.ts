import { type HeadOutcome, headOutcome } from "./core/head-outcome.js";
import type { Lane } from "./core/lane.js";
import type { QueueTermParts } from "./term-parts.js";

interface FailedAttempt {
  readonly attempts: number;
  readonly error: string;
  readonly isFinal: boolean;
  readonly retryAfterMs?: number | undefined;
}

/** What becomes of a lane's head after a failed attempt: by the rules of its lane where it has any, else by the queue's. */
export function headAfter(
  { settings, conduct, random }: Pick<QueueTermParts, "settings" | "conduct" | "random">,
  { stage, name }: Pick<Lane, "stage" | "name">,
  failure: FailedAttempt,
): HeadOutcome {
  const { maxAttempts, policy, backoffMs: firstMs, backoffCapMs: capMs } = settings;
  const own = conduct.rulesOf?.({ stage, lane: name }) ?? { maxAttempts, policy, backoff: { firstMs, capMs } };
  const head = headOutcome(failure, failure.isFinal ? { ...own, maxAttempts: 0 } : own, random());
  if (head.kind === "dead") conduct.buried?.({ stage, lane: name });
  if (head.kind !== "retry") return head;
  return { ...head, waitMs: Math.max(head.waitMs, failure.retryAfterMs ?? 0) };
}
