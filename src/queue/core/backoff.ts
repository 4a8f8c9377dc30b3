export interface Backoff {
  /** The pause after the first failure. */
  readonly firstMs: number;
  /** No pause is longer. */
  readonly capMs: number;
}

/** How much of a pause chance may take away, so that lanes which failed together do not all come back together. */
const jitterShare = 0.2;

/** More doublings than this reach any cap, and fewer keep the product a number where the first pause is 0. */
const mostDoublings = 52;

/**
 * How long a head waits after so many failures: the first pause, doubled for each further one, up to the cap.
 *
 * `jitter`, from 0 to 1, shortens it by up to a fifth. It never lengthens it, so the cap holds.
 */
export function backoffMs(attempts: number, { firstMs, capMs }: Backoff, jitter: number): number {
  const doublings = Math.min(Math.max(0, attempts - 1), mostDoublings);
  const fullMs = Math.min(capMs, firstMs * 2 ** doublings);
  return Math.round(fullMs * (1 - jitterShare * jitter));
}
