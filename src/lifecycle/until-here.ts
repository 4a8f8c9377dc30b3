import type { Clock } from "../election/clock.js";
import { isFailure } from "../errors.js";
import { pause } from "./pause.js";

const awayPauseMs = 100;

/** A database that is away for a moment does not cost a new leader its role. */
export async function untilHere<Result>(
  clock: Clock,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const passes = isFailure(error, "DATABASE_AWAY") || isFailure(error, "UNKNOWN_OUTCOME");
      if (!passes || signal.aborted) throw error;
      await pause(clock, awayPauseMs, signal);
    }
  }
}
