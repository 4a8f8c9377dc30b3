import { setTimeout as pause } from "node:timers/promises";
import type { Random } from "../../simulation/random.js";
import type { Cluster } from "../cluster.js";
import type { FaultEvent } from "../history.js";
import type { Seat } from "../seat.js";
import type { Scene } from "../workload.js";

/** What is known of a fault when it begins. */
export type Facts = Pick<FaultEvent, "point" | "lostFrom"> & {
  /** When it began, where that was before it was known to have. */
  readonly at?: number;
};

export interface FaultScene {
  readonly cluster: Cluster;
  /** What the workloads are given. */
  readonly load: Scene;
  /** Of this fault, in this run. */
  readonly number: number;
  /** The fault's own. */
  readonly random: Random;
  /** Ends where the run is given up: whatever a fault waits for then ends at once. */
  readonly signal: AbortSignal;
  /** Puts on record that the fault is there. A fault that found no occasion never calls this. */
  begin(on: string, facts?: Facts): void;
}

/** Resolves when the fault is over and what it did is mended. The end is put on record by whoever called. */
export type Strike = (scene: FaultScene) => Promise<void>;

/** Stays as it is for so long; never throws. */
export async function hold({ signal }: FaultScene, ms: number): Promise<void> {
  await pause(ms, undefined, { signal }).catch(() => undefined);
}

/** Does it in a place that no other fault of the moment has to do with, as far as there is one. */
export async function inPlace(
  { cluster }: FaultScene,
  wanted: readonly Seat[],
  work: (seat: Seat) => Promise<void>,
): Promise<void> {
  const seat = cluster.take(wanted);
  try {
    await work(seat);
  } finally {
    cluster.giveBack(seat);
  }
}

/** Mostly leaders first, since it is they who have something to lose. */
export async function victims({ cluster, random }: FaultScene, role?: string): Promise<readonly Seat[]> {
  const seats = await Promise.all(
    cluster.seats.map(async (seat) => ({ seat, leads: await seat.leads(), chance: random.unit() })),
  );
  const prefersLeader = random.chance(0.8);
  const worth = ({ leads, chance }: (typeof seats)[number]): number => {
    const leader = role === undefined ? leads.length > 0 : leads.includes(role);
    return chance + (leader === prefersLeader ? 1 : 0);
  };
  return seats.toSorted((one, other) => worth(other) - worth(one)).map(({ seat }) => seat);
}

/** Who leads the role right now, in front; the others behind. */
export async function leaderFirst({ cluster }: FaultScene, role: string): Promise<readonly Seat[]> {
  const seats = await Promise.all(cluster.seats.map(async (seat) => ({ seat, leads: await seat.leads() })));
  const rank = ({ leads }: (typeof seats)[number]): number => (leads.includes(role) ? 0 : 1);
  return seats.toSorted((one, other) => rank(one) - rank(other)).map(({ seat }) => seat);
}
