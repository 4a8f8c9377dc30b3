import type { Holder, Lease, LeaseTerms, NodeSessions, Sighting } from "./lease.js";
import type { DatabaseIdentity, Epoch, NodeId } from "./names.js";

/**
 * What the database decides about a lease, as pure functions of the row and of what the database can see at that moment.
 *
 * The store in memory calls them; the PostgreSQL store says the same in SQL, and a differential test holds the two together.
 * Each runs under the row's lock, in one transaction with the write it returns.
 */

/** What the database knows while it decides. */
export interface DatabaseFacts {
  /** The database's clock, read after the row was locked, never the transaction's start. */
  readonly now: number;
  /** Null where this database's identity cannot be read. */
  readonly identity: DatabaseIdentity | null;
}

export interface AcquireRequest {
  readonly holder: Holder;
  readonly terms: LeaseTerms;
  readonly sessions: NodeSessions;
  readonly acquireDelayMs: number;
  readonly evidence: EvidenceClaim | null;
}

/** An heir's claim that the holder crashed. */
export interface EvidenceClaim {
  readonly sighting: Sighting;
  /** How long ago, on the heir's clock, the database first confirmed that the sessions were gone. */
  readonly graceServedMs: number;
}

/** What the database sees of the sessions that the row names. */
export interface SessionFacts {
  readonly lockSessionAlive: boolean;
  readonly witnessSessionAlive: boolean;
  /** The session that the row names holds the role's lock. */
  readonly lockSessionHolds: boolean;
  /** The session that asks holds the role's lock. */
  readonly callerHolds: boolean;
  readonly kills: number;
}

export type AcquireCause = "first" | "released" | "handover" | "expired" | "evidence";

export type AcquireDecision =
  | { readonly kind: "acquired"; readonly cause: AcquireCause; readonly write: Lease; readonly gapMs: number }
  /** Somebody else holds the lease. `write` is there when the row had to be clamped. */
  | { readonly kind: "held"; readonly remainingMs: number; readonly write: Lease | null }
  | { readonly kind: "reserved"; readonly for: NodeId; readonly remainingMs: number }
  /** The holder ran out of its lease, but asked to keep the role while its session holds the lock. */
  | { readonly kind: "stalled" }
  /** Sessions of a dead process may linger for some milliseconds: look again. */
  | { readonly kind: "lingering" }
  /** The evidence is complete; the holder's grace has still to be waited out. */
  | { readonly kind: "grace"; readonly waitMs: number }
  /** What the heir saw is no evidence of a crash: wait for the lease. */
  | { readonly kind: "void"; readonly reason: VoidReason; readonly remainingMs: number }
  /** Another database than the one that wrote this row: nobody leads until every old trust has run out. */
  | { readonly kind: "quarantined"; readonly remainingMs: number; readonly write: Lease };

export type VoidReason = "lease_only" | "unseen" | "lock_not_held" | "killed";

export function decideAcquire(
  lease: Lease,
  request: AcquireRequest,
  facts: DatabaseFacts & SessionFacts,
): AcquireDecision {
  const { now } = facts;
  if (isForeign(lease, facts.identity)) {
    const write = quarantine(lease, facts, request.terms.ttlMs);
    return { kind: "quarantined", remainingMs: write.expiresAt - now, write };
  }
  if (lease.expiresAt > now + lease.ttlMs) {
    // The database's clock was stepped back. A full TTL from now covers all trust that can still exist.
    return { kind: "held", remainingMs: lease.ttlMs, write: clamp(lease, now) };
  }
  if (lease.expiresAt > now) return decideRunning(lease, request, facts);

  const invited = lease.reservedFor === request.holder.nodeId;
  if (lease.reservedFor !== null && !invited && lease.reservedUntil > now) {
    return { kind: "reserved", for: lease.reservedFor, remainingMs: lease.reservedUntil - now };
  }
  const openAt = lease.expiresAt + (invited ? 0 : request.acquireDelayMs);
  if (openAt > now) return { kind: "held", remainingMs: openAt - now, write: null };
  if (lease.onStall === "hold" && lease.holder !== null && facts.lockSessionHolds) return { kind: "stalled" };

  const cause = lease.holder !== null ? "expired" : lease.epoch === 0n ? "first" : invited ? "handover" : "released";
  const gapMs = cause === "first" ? 0 : now - lease.expiresAt;
  return { kind: "acquired", cause, gapMs, write: grant(lease, request, facts) };
}

/** A reservation counts from the expiry: left where it was, it would shut everybody else out for as long as the step. */
function clamp(lease: Lease, now: number): Lease {
  const expiresAt = now + lease.ttlMs;
  const reservedUntil = lease.reservedFor === null ? 0 : expiresAt + (lease.reservedUntil - lease.expiresAt);
  return { ...lease, expiresAt, reservedUntil };
}

/** The lease still runs: only complete evidence of a crash ends it early (R6). */
function decideRunning(lease: Lease, request: AcquireRequest, facts: DatabaseFacts & SessionFacts): AcquireDecision {
  const remainingMs = lease.expiresAt - facts.now;
  if (request.evidence === null || lease.holder === null) return { kind: "held", remainingMs, write: null };
  const { sighting, graceServedMs } = request.evidence;
  const reason = voidReason(lease, sighting, facts);
  if (reason !== null) return { kind: "void", reason, remainingMs };
  if (facts.lockSessionAlive || facts.witnessSessionAlive) return { kind: "lingering" };
  // The count is read after the sessions are gone: a session reports its end before it disappears.
  if (facts.kills !== sighting.kills) return { kind: "void", reason: "killed", remainingMs };
  const graceMs = Math.max(lease.evidenceGraceMs, request.terms.evidenceGraceMs);
  if (graceServedMs < graceMs) return { kind: "grace", waitMs: graceMs - graceServedMs };
  const gapMs = Math.max(0, facts.now - (sighting.lockedAt ?? lease.renewedAt));
  return { kind: "acquired", cause: "evidence", gapMs, write: grant(lease, request, facts) };
}

function voidReason(lease: Lease, sighting: Sighting, facts: SessionFacts): VoidReason | null {
  if (lease.takeover === "lease") return "lease_only";
  const seen =
    lease.epoch === sighting.epoch &&
    lease.lockSession === sighting.lockSession &&
    lease.witnessSession === sighting.witnessSession;
  if (!seen) return "unseen";
  return facts.callerHolds ? null : "lock_not_held";
}

export interface RenewRequest {
  readonly epoch: Epoch;
  readonly holder: Holder;
  readonly sessions: NodeSessions;
}

export type LossReason = "superseded" | "expired" | "database_changed";

export type RenewDecision =
  | { readonly kind: "renewed"; readonly write: Lease }
  | { readonly kind: "lost"; readonly reason: LossReason };

/** R4: names the exact (role, incarnation, epoch), and needs the lease unexpired, but for `hold` (R7). */
export function decideRenew(
  lease: Lease,
  request: RenewRequest,
  facts: DatabaseFacts & Pick<SessionFacts, "callerHolds">,
): RenewDecision {
  if (isForeign(lease, facts.identity)) return { kind: "lost", reason: "database_changed" };
  if (lease.epoch !== request.epoch || lease.incarnation !== request.holder.incarnation) {
    return { kind: "lost", reason: "superseded" };
  }
  const stalledButHeld = lease.onStall === "hold" && facts.callerHolds;
  if (lease.expiresAt <= facts.now && !stalledButHeld) return { kind: "lost", reason: "expired" };
  const write: Lease = {
    ...lease,
    holderUrl: request.holder.url,
    renewedAt: facts.now,
    expiresAt: facts.now + lease.ttlMs,
    lockSession: request.sessions.lock,
    witnessSession: request.sessions.witness,
  };
  return { kind: "renewed", write };
}

export interface ReleaseRequest {
  readonly epoch: Epoch;
  readonly holder: Holder;
  /** The node that the lease is kept for, and how long. */
  readonly to: NodeId | null;
  readonly reserveMs: number;
}

export type ReleaseDecision =
  | { readonly kind: "released"; readonly write: Lease }
  | { readonly kind: "lost"; readonly reason: LossReason };

/** Release only expires the lease: the epoch stays, or the next holder would be given an old token. */
export function decideRelease(lease: Lease, request: ReleaseRequest, facts: DatabaseFacts): ReleaseDecision {
  if (isForeign(lease, facts.identity)) return { kind: "lost", reason: "database_changed" };
  if (lease.epoch !== request.epoch || lease.incarnation !== request.holder.incarnation) {
    return { kind: "lost", reason: "superseded" };
  }
  if (lease.expiresAt <= facts.now) return { kind: "lost", reason: "expired" };
  const write: Lease = {
    ...vacate(lease),
    expiresAt: facts.now,
    reservedFor: request.to,
    reservedUntil: request.to === null ? 0 : facts.now + request.reserveMs,
  };
  return { kind: "released", write };
}

/** A row stamped by another database: a promoted replica that may have lost commits, or a restored copy (R3). */
function isForeign(lease: Lease, identity: DatabaseIdentity | null): boolean {
  return identity !== null && lease.identity !== null && lease.identity !== identity;
}

/**
 * The old database may have granted epochs that this copy never saw. Seconds since 1970, shifted by 21 bits, lie above
 * all of them, and above those of another copy that was promoted earlier; the quarantine outlasts the trust they gave.
 */
function quarantine(lease: Lease, facts: DatabaseFacts, ttlMs: number): Lease {
  const floor = BigInt(Math.floor(facts.now / 1000)) << 21n;
  const next = lease.epoch + 1n;
  return {
    ...vacate(lease),
    epoch: (next > floor ? next : floor) as Epoch,
    identity: facts.identity,
    ttlMs: Math.max(lease.ttlMs, ttlMs),
    expiresAt: facts.now + Math.max(lease.ttlMs, ttlMs),
    reservedFor: null,
    reservedUntil: 0,
  };
}

function vacate(lease: Lease): Lease {
  return { ...lease, holder: null, incarnation: null, holderUrl: null, lockSession: null, witnessSession: null };
}

function grant(lease: Lease, request: AcquireRequest, facts: DatabaseFacts): Lease {
  return {
    role: lease.role,
    epoch: (lease.epoch + 1n) as Epoch,
    holder: request.holder.nodeId,
    incarnation: request.holder.incarnation,
    holderUrl: request.holder.url,
    acquiredAt: facts.now,
    renewedAt: facts.now,
    expiresAt: facts.now + request.terms.ttlMs,
    ...request.terms,
    identity: facts.identity ?? lease.identity,
    lockSession: request.sessions.lock,
    witnessSession: request.sessions.witness,
    reservedFor: null,
    reservedUntil: 0,
  };
}
