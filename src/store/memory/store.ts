import type { LeaseView, NodeSessions, Sighting } from "../../election/core/lease.js";
import type { AcquireRequest } from "../../election/core/lease-rules.js";
import type { AcquireReply, BeatOrder, BeatReply, WaitReply } from "../../election/core/messages.js";
import type { Epoch, Role, SessionRef } from "../../election/core/names.js";
import { HoldfastError, StaleEpochError } from "../../errors.js";
import type { AlertBook } from "../alert-contract.js";
import type { CompactionBook } from "../compaction-contract.js";
import type { ConnectionBook } from "../connection-contract.js";
import type {
  AccessBook,
  CampaignSession,
  FenceToken,
  HistoryFilter,
  LockSession,
  ReleaseOrder,
  RequestBook,
  RoleOrder,
  SessionEvents,
  SnapshotBook,
  Store,
  Transition,
  WitnessSession,
} from "../contract.js";
import type { CronBook } from "../cron-contract.js";
import type { EngineBook } from "../engine-contract.js";
import type { JobBook } from "../job-contract.js";
import type { MetricsBook } from "../metrics-contract.js";
import type { QueueBook } from "../queue-contract.js";
import type { QueueView } from "../queue-view-contract.js";
import type { WorkerBook } from "../worker-contract.js";
import { memoryAlerts } from "./alert-book.js";
import { memoryAccess, memoryRequests, memorySnapshots, pageOf } from "./books.js";
import type { MemoryCluster, NoticeListener } from "./cluster.js";
import { memoryCompaction } from "./compaction-book.js";
import { MemoryConnectionBook } from "./connection-book.js";
import { MemoryCronBook } from "./cron-book.js";
import type { MemoryDatabase } from "./database.js";
import { MemoryEngineBook } from "./engine-book.js";
import { MemoryJobBook } from "./job-book.js";
import { memoryMetrics } from "./metrics-book.js";
import { MemoryQueueBook } from "./queue-book.js";
import { memoryQueueView } from "./queue-view.js";
import { MemoryRegistry } from "./registry.js";
import { memoryWorkerBook } from "./worker-book.js";

/** What a fenced function gets from the store in memory: a list of things to do if, and only if, it commits. */
export interface MemoryTransaction {
  onCommit(effect: () => void): void;
}

/** The store in memory: for tests of an application, and the second to keep the contract. Nothing outlives the process. */
export class MemoryStore implements Store<MemoryTransaction> {
  readonly registry: MemoryRegistry;
  readonly requests: RequestBook;
  readonly access: AccessBook;
  readonly snapshots: SnapshotBook;
  readonly queue: QueueBook;
  readonly queueView: QueueView;
  readonly jobs: JobBook;
  readonly crons: CronBook;
  readonly workers: WorkerBook;
  readonly engine: EngineBook;
  readonly connections: ConnectionBook;
  readonly openOutside = (): never => {
    throw new HoldfastError("BAD_SETTINGS", "A store in memory opens no database.");
  };
  readonly metrics: MetricsBook;
  readonly alerts: AlertBook;
  readonly compaction: CompactionBook;
  private refused: (fence: FenceToken) => void = () => undefined;
  private readonly shared: MemoryCluster;
  private readonly database: MemoryDatabase;

  constructor(shared: MemoryCluster, nodeTimeoutMs: number) {
    this.shared = shared;
    this.database = shared.database;
    this.registry = new MemoryRegistry(shared, nodeTimeoutMs);
    this.requests = memoryRequests(shared, this.registry);
    this.access = memoryAccess(shared, this.registry);
    this.snapshots = memorySnapshots(shared, this.registry);
    const fenced = async (fence: FenceToken, fn: (tx: MemoryTransaction) => Promise<void>): Promise<void> => {
      try {
        await this.transaction(fence, fn);
      } catch (error) {
        if (error instanceof StaleEpochError) this.refused(fence);
        throw error;
      }
    };
    this.queue = new MemoryQueueBook(shared.queues, () => shared.database.now(), fenced);
    this.queueView = memoryQueueView(shared.queues, () => shared.database.now());
    this.engine = new MemoryEngineBook(shared, fenced);
    const now = (): number => shared.database.now();
    this.connections = new MemoryConnectionBook(shared.connections, now, fenced);
    this.jobs = new MemoryJobBook(shared.jobs, fenced);
    this.crons = new MemoryCronBook(shared.crons, shared.jobs, fenced);
    this.metrics = memoryMetrics(shared, fenced);
    this.alerts = memoryAlerts(shared.alerts, now, this.snapshots);
    this.compaction = memoryCompaction(shared, fenced);
    this.workers = memoryWorkerBook(shared, this.registry);
  }

  async prepare(): Promise<void> {
    await Promise.resolve();
  }

  async ensureRoles(roles: readonly RoleOrder[]): Promise<void> {
    for (const { role } of roles) this.database.ensureRole(role);
    await Promise.resolve();
  }

  async leases(): Promise<readonly LeaseView[]> {
    return await Promise.resolve(this.database.views());
  }

  async history(filter: HistoryFilter): Promise<readonly Transition[]> {
    const lines = this.database.history.filter((line) => filter.role === undefined || line.role === filter.role);
    return await Promise.resolve(pageOf(lines, filter));
  }

  async openLock(events: SessionEvents): Promise<LockSession> {
    const session = new MemorySession(this.database, events);
    return await Promise.resolve({
      ...session.face(),
      identity: this.database.identity,
      beat: async (orders: readonly BeatOrder[], sessions: NodeSessions): Promise<BeatReply> => {
        await session.alive();
        this.registry.beat(session.ref);
        const reply = this.database.beat(session.ref, this.registry.holder, orders, sessions);
        this.registry.tell();
        return reply;
      },
      pulse: () => session.alive(),
      release: async (order: ReleaseOrder): Promise<void> => {
        await session.alive();
        const { role, epoch, to, reserveMs, reason, dropLock } = order;
        const request = { epoch, holder: this.registry.holder, to, reserveMs };
        const released = this.database.release(session.ref, role, request, reason, dropLock);
        if (released) this.shared.announce(role, { kind: "released", epoch, to });
      },
    });
  }

  async openWitness(events: SessionEvents & { notice: NoticeListener }): Promise<WitnessSession> {
    const session = new MemorySession(this.database, events);
    const listener: NoticeListener = (role, notice) => {
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
      const { epoch } = this.database.view(fence.role);
      throw new StaleEpochError(`epoch ${fence.epoch} of role ${fence.role} is over: ${epoch} leads now`, {
        details: { field: "leader_epoch", expected: Number(epoch), got: Number(fence.epoch) },
      });
    }
    try {
      for (const effect of effects) effect();
    } finally {
      this.database.end(tx);
    }
    return result;
  }

  onRefused(listener: (fence: FenceToken) => void): void {
    this.refused = listener;
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
