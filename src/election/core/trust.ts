/**
 * Trust: how long a leader may believe that it leads, without asking (R5).
 *
 * It counts from the *sending* of the request that the database confirmed. Counted from the reply, a slow network would
 * stretch it past the lease.
 */

/** One reading of a node's three clocks, in milliseconds. */
export interface Instant {
  /** Never stepped, but stands still while the machine is suspended. */
  readonly mono: number;
  /** Runs through a suspend, but may be stepped. */
  readonly wall: number;
  /** Time since boot, suspend included. Slow to read and coarse, so it is only asked when the other two disagree. */
  readonly boot: number;
}

export interface Trust {
  readonly since: Instant;
  readonly lengthMs: number;
}

/** Clocks that differ by no more than this agree: a slewed wall clock, and its whole milliseconds. */
export const clockToleranceMs = 50;

/** Time that has passed since `since`, on the safe side. Where the clocks disagree, the one that counts from boot decides. */
export function elapsedMs(since: Instant, mono: number, wall: number, readBoot: () => number): number {
  const byMono = mono - since.mono;
  const byWall = wall - since.wall;
  if (Math.abs(byWall - byMono) <= clockToleranceMs) return byMono > byWall ? byMono : byWall;
  return Math.max(byMono, readBoot() - since.boot);
}

export function trustRemainingMs(trust: Trust, now: Instant): number {
  return trust.lengthMs - elapsedMs(trust.since, now.mono, now.wall, () => now.boot);
}
