import type { DatabaseIdentity, Incarnation, Role, SessionRef } from "../../src/election/core/names.js";
import type { FencedTransaction } from "../../src/store/memory/database.js";
import type { DatabaseClock } from "./clocks.js";
import type { Coverage } from "./coverage.js";
import type { SimDatabase } from "./sim-database.js";
import type { World } from "./world.js";

/** The client's end of a session, as the server knows it. */
export interface SessionOwner {
  readonly incarnation: Incarnation;
  /** The server ended the session. The client may hear of it at once, later, or when it next asks. */
  endedByServer(): void;
}

/** A fenced write between its BEGIN and its end, at the server. */
export interface ServerTransaction {
  readonly fence: FencedTransaction;
  ended: boolean;
}

/**
 * The database server: sessions, how long it takes, and what befalls it as a whole. What the transactions do is the
 * database's own business (SimDatabase), what happens on the way is the connection's.
 */
export class Server {
  isUp = true;
  /** How long a statement usually takes, at most. */
  usualMs = 2;
  /** Added to each execution while the database is slow. */
  slowMs = 0;
  /** How long the server may stop between an assert and the COMMIT that follows it in the same message. */
  holdMs = 2;
  readonly database: SimDatabase;
  readonly clock: DatabaseClock;
  private readonly world: World;
  private readonly coverage: Coverage;
  private readonly owners = new Map<SessionRef, SessionOwner>();
  private readonly transactions = new Set<ServerTransaction>();
  private readonly beats = new Map<Incarnation, number>();
  private failovers = 0;

  constructor(world: World, database: SimDatabase, clock: DatabaseClock, coverage: Coverage) {
    this.world = world;
    this.database = database;
    this.clock = clock;
    this.coverage = coverage;
  }

  /** How long one statement takes, commit included. */
  latencyMs(): number {
    const { random } = this.world;
    return random.between(0.05, 1) * this.usualMs + (this.slowMs > 0 ? random.unit() * this.slowMs : 0);
  }

  open(owner: SessionOwner): SessionRef {
    const ref = this.database.openSession();
    this.owners.set(ref, owner);
    return ref;
  }

  /** Ends a session. Locks pass on at once; the client is told only where the server did it. */
  end(ref: SessionRef, cause: "left" | "dropped" | "killed"): void {
    const owner = this.owners.get(ref);
    if (owner === undefined) return;
    this.owners.delete(ref);
    this.world.trace.note(this.world.now, -1, "session ends", { ref, cause });
    this.database.endSession(ref, cause === "killed" ? "killed" : "client");
    if (cause !== "left") owner.endedByServer();
  }

  isAlive(ref: SessionRef | null): boolean {
    return this.database.isAlive(ref);
  }

  sessionsOf(incarnation: Incarnation): readonly SessionRef[] {
    return [...this.owners].filter(([, owner]) => owner.incarnation === incarnation).map(([ref]) => ref);
  }

  incarnationsWithSessions(): ReadonlySet<Incarnation> {
    return new Set([...this.owners.values()].map((owner) => owner.incarnation));
  }

  noteBeat(incarnation: Incarnation): void {
    this.beats.set(incarnation, this.database.now());
  }

  /** R7: ends the sessions that hold a lock of these roles for nodes whose beat is stale. */
  reap(by: Incarnation, roles: readonly Role[], nodeTimeoutMs: number): void {
    const now = this.database.now();
    for (const role of roles) {
      for (const name of ["lock", "heir"] as const) {
        const ref = this.database.owner(role, name);
        const owner = ref === null ? undefined : this.owners.get(ref);
        if (ref === null || owner === undefined || owner.incarnation === by) continue;
        const lastBeat = this.beats.get(owner.incarnation);
        if (lastBeat === undefined || now - lastBeat > nodeTimeoutMs) this.end(ref, "killed");
      }
    }
  }

  begin(fence: FencedTransaction): ServerTransaction {
    const transaction = { fence, ended: false };
    this.transactions.add(transaction);
    return transaction;
  }

  abort(transaction: ServerTransaction): void {
    if (transaction.ended) return;
    this.finish(transaction);
    this.coverage.count("write", "aborted");
  }

  abortAll(): void {
    for (const transaction of this.transactions) this.abort(transaction);
  }

  finish(transaction: ServerTransaction): void {
    transaction.ended = true;
    this.transactions.delete(transaction);
    this.database.end(transaction.fence);
  }

  fenceIsHeld(role: Role): boolean {
    for (const { fence } of this.transactions) if (fence.role === role && fence.asserted) return true;
    return false;
  }

  /** R7: whoever blocks an acquire of a lease that has run out is ended. */
  endBlockers(role: Role): void {
    for (const transaction of this.transactions) {
      if (transaction.fence.role !== role || !transaction.fence.asserted) continue;
      this.abort(transaction);
      this.database.kills += 1;
    }
  }

  /** All sessions and transactions end; the rows stay. */
  restart(downMs: number): void {
    this.isUp = false;
    for (const ref of this.owners.keys()) this.end(ref, "dropped");
    this.abortAll();
    if (this.world.random.chance(0.5)) this.database.kills = 0;
    this.world.after(downMs, () => {
      this.isUp = true;
    });
  }

  /** A replica is promoted that lacks the last writes. Its clock is another one, never behind. */
  failOver(lostWrites: number, downMs: number): void {
    this.restart(downMs);
    this.failovers += 1;
    this.clock.step(this.world.random.between(0, 5_000));
    this.database.promoteReplica(`replica/${this.failovers}` as DatabaseIdentity, lostWrites);
  }
}
