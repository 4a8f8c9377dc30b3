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
  /** One of the messages up to here may fell its process: they are claimed one by one, so that it is found. */
  carefulUntil: number;
  /** Monotonic time before which the head is not tried again. */
  readyAt: number;
  paused: boolean;
  blocked: boolean;
  /** Some of it is claimed. */
  inFlight: boolean;
  /** A handler that cannot be ended is still at work on it: nothing may run beside it, whatever the database says. */
  held: boolean;
  /** An append to it is under way: the next one has to wait, or commits could overtake each other and leave a gap. */
  appending: boolean;
  /** The database says that a new leader need not look at it, or may come to say so: the next append has to wake it. */
  atRest: boolean;
}

/** Whether its head could be handed out, were it not for the time. */
export function hasWork(lane: Lane): boolean {
  return lane.tail > lane.done && !lane.inFlight && !lane.held && !lane.paused && !lane.blocked;
}

/** Whether what is added next would be handed out next, at once. */
export function hasNothing({ tail, done, inFlight, held, paused, blocked }: Lane): boolean {
  return tail === done && !inFlight && !held && !paused && !blocked;
}

/** A head that was in flight in this many crashes may be what causes them: such lanes are worked on one at a time. */
const suspectAfter = 2;

export function isSuspect({ reclaims }: Lane, maxReclaims: number): boolean {
  return reclaims >= Math.min(suspectAfter, maxReclaims);
}

/** One more crash, and its head is put aside. So nothing is worked on beside it: what happens then, it has done. */
export function isLastChance({ reclaims }: Lane, maxReclaims: number): boolean {
  return reclaims >= maxReclaims;
}

/** Up to where a suspect has to be claimed message by message. Its head may be innocent, and not the next ones of its claim. */
export function carefulUntil(lane: Lane, maxReclaims: number, batch: number): number {
  return isSuspect(lane, maxReclaims) ? Math.max(lane.carefulUntil, lane.done + batch) : lane.carefulUntil;
}

/**
 * How many messages to claim of each of these lanes, in their order, until a claim has its size; the lanes after that are left for
 * the next one. Each gets the share of those that are worked on at a time: a lane is looked at as seldom as may be.
 */
export function sharesOf(lanes: readonly Lane[], batch: number, atOnce: number): readonly number[] {
  const share = Math.max(1, Math.floor(batch / Math.max(1, Math.min(lanes.length, atOnce))));
  const shares: number[] = [];
  let claimed = 0;
  for (const lane of lanes) {
    if (claimed >= batch) break;
    const most = lane.done < lane.carefulUntil ? 1 : share;
    shares.push(most);
    claimed += Math.min(most, lane.tail - lane.done);
  }
  return shares;
}
