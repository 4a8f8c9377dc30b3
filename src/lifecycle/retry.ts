import { setTimeout as delay } from "node:timers/promises";
import { type ErrorCode, HoldfastError } from "../errors.js";

/**
 * Tries again while the database is away, or while one of the other named errors may still pass, with a growing pause.
 * Gives up after `patienceMs` with the last error, which says what is wrong.
 */
export async function retryWhileAway<Result>(
  attempt: () => Promise<Result>,
  patienceMs: number,
  others: readonly (readonly [ErrorCode, number])[] = [],
  signal?: AbortSignal,
): Promise<Result> {
  const patience = new Map<ErrorCode, number>([["DATABASE_AWAY", patienceMs], ...others]);
  const since = performance.now();
  for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
    try {
      return await attempt();
    } catch (error) {
      const limit = error instanceof HoldfastError ? (patience.get(error.code) ?? 0) : 0;
      if (performance.now() - since + pauseMs > limit || signal?.aborted === true) throw error;
      await delay(pauseMs, undefined, signal === undefined ? {} : { signal });
    }
  }
}
