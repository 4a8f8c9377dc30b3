import type { Sighting } from "../../election/core/lease.js";
import type { WaitReply } from "../../election/core/messages.js";
import type { Role, SessionRef } from "../../election/core/names.js";

interface Waiter {
  readonly role: Role;
  readonly session: SessionRef;
  readonly sighting: Sighting;
  readonly granted: (reply: WaitReply) => void;
}

/** Those who wait for locks, in the order in which they came: a deposed heir may still wait when the next one does. */
export class LockWaiters {
  private readonly waiters = new Set<Waiter>();

  add(waiter: Waiter): void {
    this.waiters.add(waiter);
  }

  /** Of one role, or of all. */
  forget(session: SessionRef, role?: Role): void {
    for (const waiter of this.waiters) {
      if (waiter.session === session && (role === undefined || waiter.role === role)) this.waiters.delete(waiter);
    }
  }

  /** Only the first of a role is tried: the lock is not for those behind it. */
  grant(role: Role, now: () => number, tryLock: (session: SessionRef) => boolean): void {
    const first = [...this.waiters].find((waiter) => waiter.role === role);
    if (first === undefined || !tryLock(first.session)) return;
    this.waiters.delete(first);
    first.granted({ kind: "locked", sighting: { ...first.sighting, lockedAt: now() } });
  }
}
