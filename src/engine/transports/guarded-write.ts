import type { WriteGuard } from "./transport.js";

/**
 * The only way of a destination to the outside. The guard is asked in the same turn in which the effect begins, so that
 * nothing lies between its answer and the write. Where it throws, nothing was written.
 */
export function guardedWrite<Result>(guard: WriteGuard, effect: () => Result): Result {
  guard.mayWrite();
  return effect();
}
