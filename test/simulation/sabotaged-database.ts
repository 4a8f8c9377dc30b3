import { type Holder, type NodeSessions, type Sighting, vacantLease } from "../../src/election/core/lease.js";
import type { BeatOrder, BeatReply, WaitReply } from "../../src/election/core/messages.js";
import type { Role, SessionRef } from "../../src/election/core/names.js";
import type { FencedTransaction } from "../../src/store/memory/database.js";
import type { Sabotage } from "./sabotage.js";
import { SimDatabase } from "./sim-database.js";

/** Databases that keep less than they promise: fences, locks, and what a row says. */

/** Commits without asking whether the epoch still leads. */
class Unfenced extends SimDatabase {
  override assertEpoch(): boolean {
    return true;
  }
}

/** Asks, and lets go of the fence before the commit: a check and not a lock. */
class SplitGuard extends SimDatabase {
  override assertEpoch(tx: FencedTransaction): boolean {
    const leads = super.assertEpoch(tx);
    tx.asserted = false;
    return leads;
  }
}

/** Asserts the epoch alone, whichever database gave it. */
class ForeignFence extends SimDatabase {
  override assertEpoch(tx: FencedTransaction): boolean {
    tx.asserted = this.lease(tx.role).epoch === tx.epoch;
    return tx.asserted;
  }
}

/** Waits for the lock without having seen the holder, and calls what the row says its sighting. */
class BlindHeir extends SimDatabase {
  override wait(
    session: SessionRef,
    role: Role,
    prior: Sighting | null,
    granted: (reply: WaitReply) => void,
  ): ReturnType<SimDatabase["wait"]> {
    const { epoch, lockSession, witnessSession } = this.lease(role);
    if (lockSession === null || witnessSession === null) return super.wait(session, role, prior, granted);
    const { kills } = this;
    return super.wait(session, role, { epoch, lockSession, witnessSession, kills, lockedAt: null }, granted);
  }
}

/** Keeps the lock after evidence that came to nothing. */
class KeptLock extends SimDatabase {
  override unlock(session: SessionRef, role: Role, name: "lock" | "heir"): void {
    if (name === "heir") super.unlock(session, role, name);
  }
}

/** Lets a renewal name the sessions of the day when it was sent, though its process has reconnected since. */
class LateRenewal extends SimDatabase {
  override beat(session: SessionRef, holder: Holder, orders: readonly BeatOrder[], sessions: NodeSessions): BeatReply {
    const reply = super.beat(session, holder, orders, sessions);
    for (const { role, renewal } of reply.answers) {
      if (renewal?.kind !== "renewed") continue;
      this.leases.set(role, { ...this.lease(role), lockSession: sessions.lock, witnessSession: sessions.witness });
    }
    return reply;
  }
}

/** Makes rows that do not say which database they belong to until somebody leads. */
class UnstampedRows extends SimDatabase {
  override ensureRole(role: Role): void {
    if (!this.leases.has(role)) this.leases.set(role, vacantLease(role));
  }
}

export const sabotagedDatabases: readonly Sabotage[] = [
  {
    name: "no fence: a write commits without an assert",
    caughtBy: "G1",
    theme: "stalls",
    hooks: { database: Unfenced },
  },
  {
    name: "split guard: the fence is not held from the assert to the commit",
    caughtBy: "G1",
    theme: "stalls",
    hooks: { database: SplitGuard },
  },
  {
    name: "evidence without a sighting",
    caughtBy: "G3",
    theme: "sessions",
    hooks: { database: BlindHeir },
  },
  {
    name: "the database's identity is no part of the epoch",
    caughtBy: "G2",
    theme: "failover",
    hooks: { ignoresIdentity: true },
  },
  {
    name: "the heir keeps the lock when its evidence comes to nothing",
    caughtBy: "G6",
    theme: "sessions",
    hooks: { database: KeptLock },
  },
  {
    name: "a late renewal names sessions that its process has given up",
    caughtBy: "G3",
    theme: "sessions",
    hooks: { database: LateRenewal },
  },
  {
    name: "a new row does not carry the database's identity",
    caughtBy: "G2",
    theme: "failover",
    hooks: { database: UnstampedRows },
  },
  {
    name: "a fence does not look which database gave the epoch",
    caughtBy: "G1",
    theme: "failover",
    hooks: { database: ForeignFence },
  },
];
