import {
  type Holder,
  type Lease,
  type LeaseView,
  type NodeSessions,
  type Sighting,
  vacantLease,
  viewOf,
} from "../../election/core/lease.js";
import type { AcquireRequest, ReleaseRequest, SessionFacts } from "../../election/core/lease-rules.js";
import type { AcquireReply, BeatAnswer, BeatOrder, BeatReply, WaitReply } from "../../election/core/messages.js";
import type { DatabaseIdentity, Epoch, Role, SessionRef } from "../../election/core/names.js";
import type { Transition } from "../contract.js";
import { type LeaseRules, leaseRules } from "./lease-rules.js";
import { LockWaiters } from "./lock-waiters.js";
import { sessionRef, stillValid, wasOvertaken } from "./named-sessions.js";
import { type TransitionDetail, transitionAfter } from "./transition.js";

/** A transaction that has written something under a fence and not yet ended. */
export interface FencedTransaction {
  readonly role: Role;
  readonly epoch: Epoch;
  /** From the assert to its end it holds the fence, shared: no epoch can change in between. */
  asserted: boolean;
}

type LockName = "lock" | "heir";

/** A session ends because its client is gone, or because an administrator ended it. */
export type SessionEnd = "client" | "killed";

/**
 * A database in memory: one lease row a role, sessions that own locks, and a clock that the caller owns. Every method is
 * one committed transaction. It knows nothing of networks: the simulator and the store in memory put those around it.
 */
export class MemoryDatabase {
  identity: DatabaseIdentity | null;
  readonly leases = new Map<Role, Lease>();
  readonly history: Transition[] = [];
  readonly now: () => number;
  /** How many sessions an administrator has ended. */
  kills = 0;
  private readonly rules: LeaseRules;
  private readonly sessions = new Map<SessionRef, (cause: SessionEnd) => void>();
  private readonly locks = new Map<string, SessionRef>();
  private readonly waiters = new LockWaiters();
  private readonly fenced = new Set<FencedTransaction>();
  private sessionCount = 0;

  constructor(options: { now: () => number; identity?: DatabaseIdentity | null; rules?: LeaseRules }) {
    this.now = options.now;
    this.identity = options.identity === undefined ? ("memory/1" as DatabaseIdentity) : options.identity;
    this.rules = options.rules ?? leaseRules;
  }

  ensureRole(role: Role): void {
    // A new row is stamped too: a replica that lost the first election must not grant its epoch again (R3).
    if (!this.leases.has(role)) this.leases.set(role, { ...vacantLease(role), identity: this.identity });
  }

  openSession(onEnd: (cause: SessionEnd) => void = () => undefined): SessionRef {
    const ref = sessionRef(++this.sessionCount);
    this.sessions.set(ref, onEnd);
    return ref;
  }

  isAlive(ref: SessionRef | null): boolean {
    return ref !== null && this.sessions.has(ref);
  }

  /** The session ends, its locks are free, and whoever waits for one gets it. */
  endSession(ref: SessionRef, cause: SessionEnd = "client"): void {
    const onEnd = this.sessions.get(ref);
    if (onEnd === undefined) return;
    this.sessions.delete(ref);
    if (cause === "killed") this.kills += 1;
    onEnd(cause);
    this.waiters.forget(ref);
    for (const [name, owner] of this.locks) if (owner === ref) this.locks.delete(name);
    for (const role of this.leases.keys()) this.grantWaiting(role);
  }

  beat(session: SessionRef, holder: Holder, orders: readonly BeatOrder[], sessions: NodeSessions): BeatReply {
    const answers = orders.map((order) => this.answer(session, holder, order, sessions));
    return { answers, leases: this.views() };
  }

  private answer(session: SessionRef, holder: Holder, order: BeatOrder, sessions: NodeSessions): BeatAnswer {
    const { role } = order;
    const renewal = order.renew === null ? null : this.renew(session, holder, role, order.renew, sessions);
    return {
      role,
      renewal,
      holdsLock: this.order(session, role, "lock", order.lock),
      isHeir: this.order(session, role, "heir", order.heir),
    };
  }

  private renew(
    session: SessionRef,
    holder: Holder,
    role: Role,
    epoch: Epoch,
    sessions: NodeSessions,
  ): BeatAnswer["renewal"] {
    const facts = { now: this.now(), identity: this.identity, callerHolds: this.owner(role, "lock") === session };
    const lease = this.lease(role);
    const named = wasOvertaken(lease, holder, sessions)
      ? { lock: lease.lockSession, witness: lease.witnessSession }
      : sessions;
    const decision = this.rules.decideRenew(lease, { epoch, holder, sessions: named }, facts);
    if (decision.kind === "lost") return decision;
    this.leases.set(role, decision.write);
    return { kind: "renewed" };
  }

  private order(session: SessionRef, role: Role, name: LockName, order: "take" | "drop" | null): boolean | null {
    if (order === null) return null;
    if (order === "take") return this.tryLock(session, role, name);
    this.unlock(session, role, name);
    return false;
  }

  tryLock(session: SessionRef, role: Role, name: LockName): boolean {
    const owner = this.owner(role, name);
    if (owner === session) return true;
    if (owner !== null || !this.sessions.has(session)) return false;
    this.locks.set(`${role}/${name}`, session);
    return true;
  }

  unlock(session: SessionRef, role: Role, name: LockName): void {
    if (this.owner(role, name) !== session) return;
    this.locks.delete(`${role}/${name}`);
    this.grantWaiting(role);
  }

  owner(role: Role, name: LockName): SessionRef | null {
    return this.locks.get(`${role}/${name}`) ?? null;
  }

  /**
   * The heir's wait. Answers through `granted` when the lock comes; returns at once with the sighting while it does not,
   * or with `unheld` where there is nothing to wait for.
   */
  wait(
    session: SessionRef,
    role: Role,
    prior: Sighting | null,
    granted: (reply: WaitReply) => void,
  ): { readonly kind: "waiting"; readonly sighting: Sighting } | { readonly kind: "unheld" } {
    const sighting = this.look(role) ?? stillValid(this.lease(role), prior);
    if (sighting === null) return { kind: "unheld" };
    this.waiters.add({ role, session, sighting, granted });
    this.grantWaiting(role);
    return { kind: "waiting", sighting };
  }

  endWait(session: SessionRef, role: Role): void {
    this.waiters.forget(session, role);
  }

  /** The holder as the database sees it: both sessions alive, and the lock held by the one that the row names. */
  private look(role: Role): Sighting | null {
    const { epoch, lockSession, witnessSession } = this.lease(role);
    const alive = this.isAlive(lockSession) && this.isAlive(witnessSession);
    if (!alive || lockSession === null || witnessSession === null) return null;
    if (this.owner(role, "lock") !== lockSession) return null;
    return { epoch, lockSession, witnessSession, kills: this.kills, lockedAt: null };
  }

  private grantWaiting(role: Role): void {
    this.waiters.grant(role, this.now, (session) => this.tryLock(session, role, "lock"));
  }

  acquire(session: SessionRef, role: Role, request: AcquireRequest): AcquireReply {
    for (const tx of this.fenced) if (tx.role === role && tx.asserted) return { kind: "blocked" };
    const lease = this.lease(role);
    const facts = { now: this.now(), identity: this.identity, ...this.sessionFacts(session, lease) };
    const decision = this.rules.decideAcquire(lease, request, facts);
    if ("write" in decision && decision.write !== null) this.leases.set(role, decision.write);
    if (decision.kind !== "lingering" && decision.kind !== "grace") this.unlock(session, role, "lock");
    const view = this.view(role);
    switch (decision.kind) {
      case "acquired":
        this.record(role, "elected", decision.cause, { previous: lease.holder, gapMs: decision.gapMs });
        return { kind: "acquired", epoch: view.epoch, cause: decision.cause, gapMs: decision.gapMs, view };
      case "quarantined":
        this.record(role, "quarantined", "database_changed", { previous: lease.holder, gapMs: null });
        return { kind: "quarantined", view };
      case "held":
        return { kind: "held", view, remainingMs: decision.remainingMs };
      case "void":
        return { kind: "void", reason: decision.reason, view };
      default:
        return decision;
    }
  }

  private sessionFacts(session: SessionRef, lease: Lease): SessionFacts {
    const owner = this.owner(lease.role, "lock");
    return {
      lockSessionAlive: this.isAlive(lease.lockSession),
      witnessSessionAlive: this.isAlive(lease.witnessSession),
      lockSessionHolds: owner !== null && owner === lease.lockSession,
      callerHolds: owner === session,
      kills: this.kills,
    };
  }

  release(session: SessionRef, role: Role, request: ReleaseRequest, reason: string, dropLock: boolean): boolean {
    const lease = this.lease(role);
    const decision = this.rules.decideRelease(lease, request, { now: this.now(), identity: this.identity });
    if (decision.kind === "released") {
      this.leases.set(role, decision.write);
      this.record(role, "released", reason, { previous: lease.holder, gapMs: null });
    }
    if (dropLock) this.unlock(session, role, "lock");
    return decision.kind === "released";
  }

  /** A process stops while a lease of its own still runs: the end of its sessions is no crash (R9). */
  leave(holder: Holder): void {
    for (const [role, lease] of this.leases) {
      if (lease.incarnation === holder.incarnation) {
        this.leases.set(role, { ...lease, lockSession: null, witnessSession: null });
      }
    }
  }

  advanceEpoch(role: Role, to: Epoch): Epoch {
    const lease = this.lease(role);
    const epoch = (to > lease.epoch ? to : lease.epoch + 1n) as Epoch;
    this.leases.set(role, {
      ...vacantLease(role),
      epoch,
      identity: this.identity,
      expiresAt: this.now() + lease.ttlMs,
      ttlMs: lease.ttlMs,
    });
    this.record(role, "advanced", "operator", { previous: lease.holder, gapMs: null });
    return epoch;
  }

  begin(role: Role, epoch: Epoch): FencedTransaction {
    const tx: FencedTransaction = { role, epoch, asserted: false };
    this.fenced.add(tx);
    return tx;
  }

  /** True while the epoch still leads; the fence then stays held until the transaction ends (R8). */
  assertEpoch(tx: FencedTransaction): boolean {
    // A row of another database may show an epoch that a lost commit had already ended.
    const { epoch, isForeign } = this.view(tx.role);
    tx.asserted = epoch === tx.epoch && !isForeign;
    if (!tx.asserted) this.fenced.delete(tx);
    return tx.asserted;
  }

  end(tx: FencedTransaction): void {
    this.fenced.delete(tx);
  }

  holds(role: Role, epoch: Epoch, holder: Holder): boolean {
    const lease = this.lease(role);
    return lease.epoch === epoch && lease.incarnation === holder.incarnation && lease.expiresAt > this.now();
  }

  lease(role: Role): Lease {
    this.ensureRole(role);
    return this.leases.get(role) as Lease;
  }

  view(role: Role): LeaseView {
    const lease = this.lease(role);
    const isForeign = this.identity !== null && lease.identity !== null && lease.identity !== this.identity;
    return viewOf(lease, this.now(), isForeign);
  }

  views(): LeaseView[] {
    return [...this.leases.keys()].map((role) => this.view(role));
  }

  private record(role: Role, event: Transition["event"], reason: string, detail: TransitionDetail): void {
    this.history.push(
      transitionAfter(this.history.at(-1), this.lease(role), { event, reason, at: this.now(), ...detail }),
    );
  }
}
