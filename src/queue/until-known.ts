import type { Clock } from "../election/clock.js";
import { isFailure } from "../errors.js";
import { pause } from "../lifecycle/pause.js";

const firstPauseMs = 10;
const longestPauseMs = 2_000;

/**
 * Writes to places that were given before. An outcome that is unknown is asked for again, with the same places: what is
 * there already is not added again. Whatever is answered after that, it stays unknown, unless it is that all of it is there.
 */
export async function untilKnown(
  write: (isRepeated: boolean) => Promise<void>,
  term: { readonly clock: Clock; readonly isOver: () => boolean; readonly signal?: AbortSignal },
): Promise<void> {
  let unknown: unknown = null;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await write(unknown !== null);
    } catch (error) {
      if (isFailure(error, "UNKNOWN_OUTCOME")) unknown = error;
      const passes = isFailure(error, "UNKNOWN_OUTCOME") || isFailure(error, "DATABASE_AWAY");
      if (!passes || term.isOver()) throw unknown ?? error;
      await pause(term.clock, pauseMs, term.signal);
      if (term.isOver()) throw unknown ?? error;
    }
  }
}
