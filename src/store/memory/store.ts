import type { LeaseView, NodeSessions, Sighting } from "../../election/core/lease.js";
import type { AcquireRequest } from "../../election/core/lease-rules.js";
import type { AcquireReply, BeatOrder, BeatReply, Notice, WaitReply } from "../../election/core/messages.js";
import type { Epoch, Role, SessionRef } from "../../election/core/names.js";
import { HoldfastError, invariant, StaleEpochError } from "../../errors.js";
import type { NodeReport, NodeRow, NodeStatus } from "../../membership/node-row.js";
import type {
  CampaignSession,
  FenceToken,
  LockSession,
  ReleaseOrder,
  RoleOrder,
  SessionEvents,
  Store,
  Transition,
  WitnessSession,
} from "../contract.js";
import type { MemoryDatabase } from "./database.js";

/** What a fenced function gets from the store in memory: a list of things to do if, and only if, it commits. */
export interface MemoryTransaction {
  onCommit(effect: () => void): void;
}

type Listener = (role: Role, notice: Notice) => void;

/** What the nodes of one database in memory share beside the leases: the registry, and who hears notices. */
export class MemoryCluster {
  readonly nodes = new Map<string, NodeRow & { readonly lockSession: SessionRef | null }>();
  readonly listeners = new Set<Listener>();
  readonly database: MemoryDatabase;
  /** Ends a wait after its slice; the tests' clock stands behind it. */
  readonly wakeAfter: (ms: number, fire: () => void) => () => void;

  constructor(database: MemoryDatabase, wakeAfter: (ms: number, fire: () => void) => () => void) {
    this.database = database;
    this.wakeAfter = wakeAfter;
  }

  announce(role: Role, notice: Notice): void {
    for (const listener of this.listeners) queueMicrotask(() => listener(role, notice));
  }
}

/** The store in memory: for tests of an application, and the second to keep the contract. Nothing outlives the process. */
export class MemoryStore implements Store<MemoryTransaction> {
  private readonly shared: MemoryCluster;
  private readonly database: MemoryDatabase;
  private report: NodeReport | null = null;

  constructor(shared: MemoryCluster) {
    this.shared = shared;
    this.database = shared.database;
  }

  async prepare(): Promise<void> {
    await Promise.resolve();
  }

  async ensureRoles(roles: readonly RoleOrder[]): Promise<void> {
    for (const { role } of roles) this.database.ensureRole(role);
    await Promise.resolve();
  }

  async join(report: NodeReport): Promise<void> {
    const known = this.shared.nodes.get(report.nodeId);
    const alive =
      known !== undefined && known.incarnation !== report.incarnation && this.database.isAlive(known.lockSession);
    if (alive && known.status !== "left") {
      throw new HoldfastError(
        "NODE_ID_TAKEN",
        `Node id "${report.nodeId}" is taken by pid ${known.pid} on ${known.hostname}.`,
      );
    }
    this.report = report;
    const now = this.database.now();
    this.shared.nodes.set(report.nodeId, {
      ...report,
      startedAt: now,
      lastHeartbeat: now,
      heartbeatAgeMs: 0,
      lockSession: null,
    });
    await Promise.resolve();
  }

  setStatus(status: NodeStatus): void {
    if (this.report !== null) this.report = { ...this.report, status };
  }

  async leave(): Promise<void> {
    if (this.report === null) return;
    this.setStatus("left");
    this.beatRegistry(null);
    this.database.leave(this.holder());
    await Promise.resolve();
  }

  async nodes(): Promise<readonly NodeRow[]> {
    const now = this.database.now();
    const rows = [...this.shared.nodes.values()].map(({ lockSession, ...row }) => ({
      ...row,
      heartbeatAgeMs: now - row.lastHeartbeat,
    }));
    return await Promise.resolve(rows.sort((a, b) => (a.nodeId < b.nodeId ? -1 : 1)));
  }

  async leases(): Promise<readonly LeaseView[]> {
    return await Promise.resolve(this.database.views());
  }

  async history(filter: { readonly role?: Role; readonly limit: number }): Promise<readonly Transition[]> {
    const lines = this.database.history.filter((line) => filter.role === undefined || line.role === filter.role);
    return await Promise.resolve(lines.reverse().slice(0, filter.limit));
  }

  async openLock(events: SessionEvents): Promise<LockSession> {
    const session = new MemorySession(this.database, events);
    return await Promise.resolve({
      ...session.face(),
      identity: this.database.identity,
      beat: async (orders: readonly BeatOrder[], sessions: NodeSessions): Promise<BeatReply> => {
        await session.alive();
        this.beatRegistry(session.ref);
        return this.database.beat(session.ref, this.holder(), orders, sessions);
      },
      pulse: () => session.alive(),
      release: async (order: ReleaseOrder): Promise<void> => {
        await session.alive();
        const { role, epoch, to, reserveMs, reason, dropLock } = order;
        const request = { epoch, holder: this.holder(), to, reserveMs };
        const released = this.database.release(session.ref, role, request, reason, dropLock);
        if (released) this.shared.announce(role, { kind: "released", epoch, to });
      },
    });
  }

  async openWitness(events: SessionEvents & { notice: Listener }): Promise<WitnessSession> {
    const session = new MemorySession(this.database, events);
    const listener: Listener = (role, notice) => {
      if (this.database.isAlive(session.ref)) events.notice(role, notice);
    };
    this.shared.listeners.add(listener);
    session.onEnd = () => this.shared.listeners.delete(listener);
    return await Promise.resolve({
      ...session.face(),
      reap: async () => await Promise.resolve({ ended: 0, refused: 0 }),
    });
  }

  async openCampaign(role: Role, events: SessionEvents): Promise<CampaignSession> {
    const session = new MemorySession(this.database, events);
    return await Promise.resolve({
      ...session.face(),
      wait: (prior: Sighting | null, sliceMs: number) => this.wait(session, role, prior, sliceMs),
      acquire: async (request: AcquireRequest): Promise<AcquireReply> => {
        await session.alive();
        const reply = this.database.acquire(session.ref, role, request);
        if (reply.kind === "acquired") this.shared.announce(role, { kind: "elected", epoch: reply.epoch });
        return reply;
      },
    });
  }

  private async wait(session: MemorySession, role: Role, prior: Sighting | null, sliceMs: number): Promise<WaitReply> {
    await session.alive();
    return await new Promise<WaitReply>((resolve) => {
      const started = this.database.wait(session.ref, role, prior, resolve);
      if (started.kind === "unheld") {
        resolve(started);
        return;
      }
      this.shared.wakeAfter(sliceMs, () => {
        this.database.endWait(session.ref, role);
        resolve({ kind: "timeout", sighting: started.sighting }); // Too late if the lock came first.
      });
    });
  }

  async transaction<Result>(fence: FenceToken, fn: (tx: MemoryTransaction) => Promise<Result>): Promise<Result> {
    const effects: (() => void)[] = [];
    const result = await fn({ onCommit: (effect) => effects.push(effect) });
    const tx = this.database.begin(fence.role, fence.epoch);
    if (!this.database.assertEpoch(tx)) {
      throw new StaleEpochError(`epoch ${fence.epoch} of role ${fence.role} is over`);
    }
    try {
      for (const effect of effects) effect();
    } finally {
      this.database.end(tx);
    }
    return result;
  }

  async verify(fence: FenceToken): Promise<boolean> {
    return await Promise.resolve(this.database.holds(fence.role, fence.epoch, fence.holder));
  }

  async advanceEpoch(role: Role, to: Epoch): Promise<Epoch> {
    return await Promise.resolve(this.database.advanceEpoch(role, to));
  }

  async close(): Promise<void> {
    await Promise.resolve();
  }

  private holder(): { nodeId: NodeReport["nodeId"]; incarnation: NodeReport["incarnation"]; url: string | null } {
    invariant(this.report !== null, "a session was used before the node joined");
    const { nodeId, incarnation, url } = this.report;
    return { nodeId, incarnation, url };
  }

  private beatRegistry(lockSession: SessionRef | null): void {
    const { report } = this;
    if (report === null) return;
    const known = this.shared.nodes.get(report.nodeId);
    const now = this.database.now();
    const startedAt = known?.startedAt ?? now;
    this.shared.nodes.set(report.nodeId, { ...report, startedAt, lastHeartbeat: now, heartbeatAgeMs: 0, lockSession });
  }
}

/** A session that ends when its owner closes it or the database ends it. */
class MemorySession {
  readonly ref: SessionRef;
  onEnd: () => void = () => undefined;
  private readonly database: MemoryDatabase;

  constructor(database: MemoryDatabase, events: SessionEvents) {
    this.database = database;
    this.ref = database.openSession((cause) => {
      this.onEnd();
      if (cause === "killed") queueMicrotask(() => events.closed("the session was ended by an administrator"));
    });
  }

  face(): { readonly ref: SessionRef; readonly path: "direct"; close(): void } {
    return { ref: this.ref, path: "direct", close: () => this.database.endSession(this.ref) };
  }

  /** A request reaches the database a little later, as over any connection, if it still stands. */
  async alive(): Promise<void> {
    await Promise.resolve();
    if (!this.database.isAlive(this.ref)) throw new HoldfastError("DATABASE_AWAY", "The session has ended.");
  }
}
