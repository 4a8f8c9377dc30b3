/** A lane as the leader keeps it in memory: what the database has, and what is under way. */
export interface Lane {
  readonly id: number;
  readonly stage: string;
  readonly name: string;
  /** Finished up to here, and known to the database. */
  done: number;
  /** Finished up to here by its handler, whether or not the database knows it yet. */
  reached: number;
  /** Taken in up to here, and known to the database. */
  tail: number;
  attempts: number;
  reclaims: number;
  /** Monotonic time before which the head is not tried again. */
  readyAt: number;
  paused: boolean;
  blocked: boolean;
  /** Some of it is claimed. */
  inFlight: boolean;
  /** An append to it is under way: the next one has to wait, or commits could overtake each other and leave a gap. */
  appending: boolean;
  /** The database says that a new leader need not look at it, or may come to say so: the next append has to wake it. */
  atRest: boolean;
}

/** Whether its head could be handed out, were it not for the time. */
export function hasWork(lane: Lane): boolean {
  return lane.tail > lane.done && !lane.inFlight && !lane.paused && !lane.blocked;
}

/** A head that was in flight in this many crashes may be what causes them: such lanes are worked on one at a time. */
const suspectAfter = 2;

export function isSuspect(lane: Lane): boolean {
  return lane.reclaims >= suspectAfter;
}

/** How many messages of each lane to claim, so that a claim has its size whatever the number of lanes. */
export function shareOf(batch: number, lanes: number): number {
  return Math.max(1, Math.floor(batch / Math.max(1, lanes)));
}
