import type { Clock } from "../election/clock.js";
import { type ErrorCode, HoldfastError } from "../errors.js";
import { pause } from "../lifecycle/pause.js";

const firstPauseMs = 1_000;
const longestPauseMs = 60_000;
/** What may be over at the next try. A write of unknown outcome does no harm when it is done twice, here. */
const passing: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "DATABASE_AWAY",
  "UNKNOWN_OUTCOME",
  "DATABASE_READ_ONLY",
  "DATABASE_REFUSED",
]);

/**
 * Does the same again and again until the term ends. What the database refuses or cannot hear now is tried again, sooner at
 * first; nobody's leadership is given up for it, since another leader would fare no better. Anything else is thrown.
 */
export async function untilEnd(
  { clock, trouble }: { readonly clock: Clock; readonly trouble: (what: string, error: unknown) => void },
  signal: AbortSignal,
  chore: { readonly what: string; readonly everyMs: number; readonly run: () => Promise<void> },
): Promise<void> {
  const { what, everyMs, run } = chore;
  let patienceMs = firstPauseMs;
  while (!signal.aborted) {
    let restMs = everyMs;
    try {
      await run();
      patienceMs = firstPauseMs;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof HoldfastError) || !passing.has(error.code)) throw error;
      trouble(`could not ${what}`, error);
      restMs = Math.min(everyMs, patienceMs);
      patienceMs = Math.min(2 * patienceMs, longestPauseMs);
    }
    await pause(clock, restMs, signal);
  }
}
