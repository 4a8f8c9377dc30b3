import { type Backoff, backoffMs } from "./backoff.js";

export interface HeadFailure {
  /** How often the head had failed before. */
  readonly attempts: number;
  readonly error: string;
}

export interface HeadRules {
  readonly maxAttempts: number;
  readonly policy: "dead_letter" | "block";
  readonly backoff: Backoff;
}

/** What a failure makes of a lane's head: the `head` of a settlement, as src/store/queue-contract.ts has it. */
export type HeadOutcome =
  | { readonly kind: "retry"; readonly attempts: number; readonly waitMs: number; readonly error: string }
  | { readonly kind: "blocked"; readonly attempts: number; readonly error: string }
  | { readonly kind: "dead"; readonly attempts: number; readonly error: string };

/** `jitter` is a number from 0 to 1. */
export function headOutcome(failure: HeadFailure, rules: HeadRules, jitter: number): HeadOutcome {
  const { error } = failure;
  const attempts = failure.attempts + 1;
  if (attempts < rules.maxAttempts) {
    return { kind: "retry", attempts, waitMs: backoffMs(attempts, rules.backoff, jitter), error };
  }
  switch (rules.policy) {
    case "dead_letter":
      return { kind: "dead", attempts, error };
    case "block":
      return { kind: "blocked", attempts, error };
  }
}
