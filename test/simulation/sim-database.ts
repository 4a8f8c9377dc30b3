import type { Holder, Lease, NodeSessions } from "../../src/election/core/lease.js";
import type { AcquireRequest, ReleaseRequest } from "../../src/election/core/lease-rules.js";
import type { AcquireReply, BeatOrder, BeatReply } from "../../src/election/core/messages.js";
import type { DatabaseIdentity, Epoch, Role, SessionRef } from "../../src/election/core/names.js";
import { MemoryDatabase } from "../../src/store/memory/database.js";
import type { LeaseRules } from "../../src/store/memory/lease-rules.js";

/** Told of every change of a row, at the moment of its commit. */
export interface Audit {
  granted(role: Role, before: Lease, lockHolder: SessionRef | null): void;
  /** The epoch rose without anybody being granted it. */
  raised(role: Role): void;
  released(role: Role, before: Lease, request: ReleaseRequest): void;
  wrote(role: Role, before: Lease, after: Lease): void;
}

export interface SimDatabaseOptions {
  readonly now: () => number;
  readonly identity: DatabaseIdentity | null;
  readonly rules: LeaseRules;
  readonly audit: Audit;
  /** Whether another transaction has the row locked just now, so that a beat passes it over. */
  readonly rowIsLocked: () => boolean;
}

/** The database in memory, watched, with a log of its last writes that a failover can lose. */
export class SimDatabase extends MemoryDatabase {
  private readonly audit: Audit;
  private readonly rowIsLocked: () => boolean;
  private readonly written = new Map<Role, Lease>();
  private readonly log: { readonly role: Role; readonly before: Lease }[] = [];

  constructor(options: SimDatabaseOptions) {
    super(options);
    this.audit = options.audit;
    this.rowIsLocked = options.rowIsLocked;
  }

  override beat(session: SessionRef, holder: Holder, orders: readonly BeatOrder[], sessions: NodeSessions): BeatReply {
    const passedOver = orders.map((order) => order.renew !== null && this.rowIsLocked());
    const asked = orders.map((order, index) => (passedOver[index] ? { ...order, renew: null } : order));
    const reply = super.beat(session, holder, asked, sessions);
    this.noteWrites();
    const answers = reply.answers.map((answer, index) =>
      passedOver[index] ? { ...answer, renewal: { kind: "unknown" as const } } : answer,
    );
    return { ...reply, answers };
  }

  override acquire(session: SessionRef, role: Role, request: AcquireRequest): AcquireReply {
    const before = this.lease(role);
    const lockHolder = this.owner(role, "lock");
    const reply = super.acquire(session, role, request);
    this.noteWrites();
    if (reply.kind === "acquired") this.audit.granted(role, before, lockHolder);
    if (reply.kind === "quarantined") this.audit.raised(role);
    return reply;
  }

  override release(
    session: SessionRef,
    role: Role,
    request: ReleaseRequest,
    reason: string,
    dropLock: boolean,
  ): boolean {
    const before = this.lease(role);
    const released = super.release(session, role, request, reason, dropLock);
    this.noteWrites();
    if (released) this.audit.released(role, before, request);
    return released;
  }

  override advanceEpoch(role: Role, to: Epoch): Epoch {
    const epoch = super.advanceEpoch(role, to);
    this.noteWrites();
    this.audit.raised(role);
    return epoch;
  }

  /** A replica takes over that had not received the last writes. */
  promoteReplica(identity: DatabaseIdentity | null, lostWrites: number): void {
    for (let lost = 0; lost < lostWrites; lost++) {
      const last = this.log.pop();
      if (last === undefined) break;
      this.leases.set(last.role, last.before);
      this.written.set(last.role, last.before);
    }
    if (this.identity !== null) this.identity = identity;
  }

  /** Rows are values: a row that is another object has been written. */
  private noteWrites(): void {
    for (const [role, after] of this.leases) {
      const before = this.written.get(role);
      if (before === after) continue;
      this.written.set(role, after);
      if (before === undefined) continue;
      this.log.push({ role, before });
      this.audit.wrote(role, before, after);
    }
  }
}
