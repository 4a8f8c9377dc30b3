import type { DatabaseIdentity, Epoch, Incarnation, NodeId, Role, SessionRef } from "./names.js";

/** What others must respect while this lease stands, as its holder set it (R1: others obey the row). */
export interface LeaseTerms {
  readonly ttlMs: number;
  /** A stalled holder loses the lease when it runs out ("depose"), or keeps it while its session holds the lock ("hold"). */
  readonly onStall: "depose" | "hold";
  /** Whether crash evidence may end the lease before it has run out (R6). */
  readonly takeover: "evidence" | "lease";
  readonly evidenceGraceMs: number;
}

/**
 * The lease row: the only authority on who leads (R1). It is never deleted and its epoch never decreases.
 * Every time in it is the database's own clock, in milliseconds (R2).
 */
export interface Lease extends LeaseTerms {
  readonly role: Role;
  readonly epoch: Epoch;
  readonly holder: NodeId | null;
  readonly incarnation: Incarnation | null;
  readonly holderUrl: string | null;
  readonly acquiredAt: number;
  readonly renewedAt: number;
  readonly expiresAt: number;
  readonly identity: DatabaseIdentity | null;
  /** The session that renews and holds the role's lock. */
  readonly lockSession: SessionRef | null;
  /** A second session of the same process: one lost session alone is no crash. */
  readonly witnessSession: SessionRef | null;
  /** A step-down to a named node keeps the lease for it until this moment. */
  readonly reservedFor: NodeId | null;
  readonly reservedUntil: number;
}

export function vacantLease(role: Role): Lease {
  return {
    role,
    epoch: 0n as Epoch,
    holder: null,
    incarnation: null,
    holderUrl: null,
    acquiredAt: 0,
    renewedAt: 0,
    expiresAt: 0,
    ttlMs: 0,
    onStall: "depose",
    takeover: "evidence",
    evidenceGraceMs: 0,
    identity: null,
    lockSession: null,
    witnessSession: null,
    reservedFor: null,
    reservedUntil: 0,
  };
}

/** The sessions of a node that a lease names. Null where a pooler hides them, which rules evidence out. */
export interface NodeSessions {
  readonly lock: SessionRef | null;
  readonly witness: SessionRef | null;
}

/** A node that asks for, renews or gives up a lease. */
export interface Holder {
  readonly nodeId: NodeId;
  readonly incarnation: Incarnation;
  readonly url: string | null;
}

/** What the heir saw when it last looked: the holder alive, holding the lock. The ground of all evidence (R6). */
export interface Sighting {
  readonly epoch: Epoch;
  readonly lockSession: SessionRef;
  readonly witnessSession: SessionRef;
  /** How many sessions of this database had been ended by an administrator by then. */
  readonly kills: number;
  /** The database's clock when the lock came to the heir; null while it is still held. */
  readonly lockedAt: number | null;
}

/** A lease as a node last saw it; times are relative, so no clock of the database leaks into a decision. */
export interface LeaseView {
  readonly role: Role;
  readonly epoch: Epoch;
  readonly holder: NodeId | null;
  readonly incarnation: Incarnation | null;
  readonly holderUrl: string | null;
  /** Milliseconds of the database's clock since 1970; for display only. */
  readonly acquiredAt: number;
  readonly expiresAt: number;
  /** How long the lease had still to run when the database looked; zero or less: run out or free. */
  readonly remainingMs: number;
  readonly ttlMs: number;
  readonly takeover: "evidence" | "lease";
  readonly reservedFor: NodeId | null;
  /** The row was written by another database than the one that shows it. */
  readonly isForeign: boolean;
}

export function viewOf(lease: Lease, now: number, isForeign: boolean): LeaseView {
  return {
    role: lease.role,
    epoch: lease.epoch,
    holder: lease.holder,
    incarnation: lease.incarnation,
    holderUrl: lease.holderUrl,
    acquiredAt: lease.acquiredAt,
    expiresAt: lease.expiresAt,
    remainingMs: lease.expiresAt - now,
    ttlMs: lease.ttlMs,
    takeover: lease.takeover,
    reservedFor: lease.reservedFor,
    isForeign,
  };
}
