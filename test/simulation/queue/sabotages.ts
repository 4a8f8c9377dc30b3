import { type MemoryLane, MemoryQueueTables } from "../../../src/store/memory/queue-tables.js";
import type { RecoverOrder, StoredMessage } from "../../../src/store/queue-contract.js";
import type { QueueHooks } from "./hooks.js";
import { type BookRequest, claimOrderOf, fenceOf, settlementsOf } from "./request.js";
import type { ThemeName } from "./scenario.js";
import type { QueueRule } from "./violation.js";

/** A queue with one rule broken, and the rule that has to notice. */
export interface QueueSabotage {
  readonly name: string;
  readonly caughtBy: QueueRule;
  /** The scenarios in which it shows soonest. */
  readonly theme: ThemeName;
  /** Made anew for each seed: some remember something. */
  readonly hooks: () => QueueHooks;
}

/** Hands out what is behind the messages in flight, as `SKIP LOCKED` does. */
class SlidingTables extends MemoryQueueTables {
  readonly inFlightUpTo = new Map<MemoryLane, number>();

  override prefix(lane: MemoryLane, limit: number): StoredMessage[] {
    const from = this.inFlightUpTo.get(lane) ?? lane.done;
    return this.unfinished(lane)
      .filter(({ position }) => position > from)
      .slice(0, limit);
  }
}

/** Takes the lowest positions that it sees, whatever is missing among them. */
class GapTables extends MemoryQueueTables {
  override prefix(lane: MemoryLane, limit: number): StoredMessage[] {
    return this.unfinished(lane).slice(0, limit);
  }
}

function slide(request: BookRequest, tables: SlidingTables): void {
  tables.inFlightUpTo.clear();
  if (request.method !== "claim") return;
  for (const lane of tables.lanesNamed(claimOrderOf(request).wishes.map((wish) => wish.lane))) {
    if (lane.claimed > lane.done) tables.inFlightUpTo.set(lane, lane.claimed);
    lane.claimed = lane.done;
  }
}

/** Something is done to the lanes that a recovery finds in flight. */
function afterRecovery(spoil: (lane: MemoryLane, before: MemoryLane) => void): QueueHooks {
  let inFlight: MemoryLane[] = [];
  return {
    before: (request, { tables }) => {
      const epoch = fenceOf(request)?.epoch ?? 0n;
      const left = [...tables.lanes.values()].filter((lane) => lane.claimed > lane.done && lane.claimEpoch < epoch);
      inFlight = request.method === "recover" ? left.map((lane) => ({ ...lane })) : [];
    },
    after: (_request, { tables }) => {
      for (const before of inFlight) {
        const lane = tables.lanes.get(before.id);
        if (lane?.done === before.done) spoil(lane, before);
      }
    },
  };
}

export const queueSabotages: readonly QueueSabotage[] = [
  {
    name: "no head pin: a head that waits or is blocked is claimed",
    caughtBy: "G5",
    theme: "clocks",
    hooks: () => ({
      before: (request, { tables }) => {
        if (request.method !== "claim") return;
        for (const lane of tables.lanesNamed(claimOrderOf(request).wishes.map((wish) => wish.lane))) {
          Object.assign(lane, { waitUntil: null, blocked: false });
        }
      },
    }),
  },
  {
    name: "SKIP LOCKED: a claim slides past what is in flight",
    caughtBy: "G5",
    theme: "wire",
    hooks: () => ({
      tables: SlidingTables,
      before: (request, { tables }) => {
        if (tables instanceof SlidingTables) slide(request, tables);
      },
    }),
  },
  {
    name: "no claim token: whoever settles a lane is believed",
    caughtBy: "claim",
    theme: "clocks",
    hooks: () => ({
      before: (request, { tables }) => {
        if (request.method !== "settle") return;
        for (const { lane: id, claim, done } of settlementsOf(request)) {
          const lane = tables.lanes.get(id);
          if (lane !== undefined) Object.assign(lane, { claim, claimed: Math.max(lane.claimed, done) });
        }
      },
    }),
  },
  {
    name: "no sweep: a claim whose reply was lost stays",
    caughtBy: "liveness",
    theme: "wire",
    hooks: () => ({
      before: (request, { tables }) => {
        if (request.method === "sweep") for (const lane of tables.lanes.values()) lane.leasedUntil = null;
      },
    }),
  },
  {
    name: "a reclaim spends an attempt",
    caughtBy: "attempt",
    theme: "steps",
    hooks: () =>
      afterRecovery((lane) => {
        lane.attempts += 1;
      }),
  },
  {
    name: "a recovery forgets what lower epochs had in flight",
    caughtBy: "recovery",
    theme: "steps",
    hooks: () =>
      afterRecovery((lane, { claimed, claim, claimEpoch, leasedUntil }) => {
        Object.assign(lane, { claimed, claim, claimEpoch, leasedUntil });
      }),
  },
  {
    name: "crashes are not counted, and poison fells one leader after another",
    caughtBy: "liveness",
    theme: "poison",
    hooks: () =>
      afterRecovery((lane) => {
        lane.reclaims = 0;
      }),
  },
  {
    name: "nextval order: positions are given when they are asked for, and commit in any order",
    caughtBy: "G4",
    theme: "calm",
    hooks: () => ({ tables: GapTables, scattersAppends: true }),
  },
  { name: "no fence", caughtBy: "G1", theme: "leaders", hooks: () => ({ ignoresFence: true }) },
  {
    name: "an append is acknowledged before it is committed",
    caughtBy: "G4",
    theme: "calm",
    hooks: () => ({ answersAppendsEarly: true }),
  },
  {
    name: "a message is finished without what it produced",
    caughtBy: "handoff",
    theme: "calm",
    hooks: () => ({
      rewrite: (request) =>
        request.method === "settle" ? { ...request, args: [...request.args.slice(0, 2), null] } : request,
    }),
  },
  {
    name: "keys are not looked up",
    caughtBy: "key",
    theme: "wire",
    hooks: () => ({
      rewrite: (request) => (request.method === "findKeys" ? { ...request, args: [request.args[0], []] } : request),
    }),
  },
  {
    name: "a leader that lost track counts as a crash",
    caughtBy: "quarantine",
    theme: "wire",
    hooks: () => {
      let own: readonly number[] = [];
      return {
        before: (request, { tables }) => {
          const isOwn = request.method === "recover" && (request.args[1] as RecoverOrder).own;
          const epoch = fenceOf(request)?.epoch;
          const left = [...tables.lanes.values()].filter((one) => one.claimed > one.done && one.claimEpoch === epoch);
          own = isOwn ? left.map(({ id }) => id) : [];
        },
        after: (_request, { tables }) => {
          for (const lane of tables.lanesNamed(own)) lane.reclaims += 1;
        },
      };
    },
  },
];
