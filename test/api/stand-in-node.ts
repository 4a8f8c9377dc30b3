import { Writable } from "node:stream";
import { pino } from "pino";
import { Registry } from "prom-client";
import { Access } from "../../src/access/access.js";
import type { AuditRow } from "../../src/access/audit.js";
import type { AccessRole, Grant } from "../../src/access/permission.js";
import type { TokenRow } from "../../src/access/token.js";
import { type ConfigOptions, resolveConfig } from "../../src/config/config.js";
import { systemClock } from "../../src/election/clock.js";
import { epochOf, type NodeId } from "../../src/election/core/names.js";
import { HoldfastError } from "../../src/errors.js";
import type { Crons } from "../../src/jobs/crons.js";
import { jobSettingsOf } from "../../src/jobs/job-settings.js";
import { Jobs } from "../../src/jobs/jobs.js";
import { FunctionCalls } from "../../src/jobs/worker/function-calls.js";
import { InFlightWork } from "../../src/lifecycle/in-flight.js";
import type { Asking, ClusterView, RoleLease } from "../../src/membership/cluster-view.js";
import { LeadershipNews } from "../../src/membership/leadership-news.js";
import type { NodeLoad, NodeRow } from "../../src/membership/node-row.js";
import type { Posture, Readiness } from "../../src/membership/posture.js";
import { usualDefaults } from "../../src/queue/queue-defaults.js";
import { Queues } from "../../src/queue/queues.js";
import type { ServedNode } from "../../src/server/served-node.js";
import type { AccessBook, Transition } from "../../src/store/contract.js";
import { MemoryAlertTables } from "../../src/store/memory/alert-tables.js";
import { MemoryCronTables } from "../../src/store/memory/cron-tables.js";
import { MemoryJobBook } from "../../src/store/memory/job-book.js";
import { MemoryJobTables } from "../../src/store/memory/job-tables.js";
import { MemoryQueueBook } from "../../src/store/memory/queue-book.js";
import { MemoryQueueTables } from "../../src/store/memory/queue-tables.js";
import { memoryQueueView } from "../../src/store/memory/queue-view.js";
import { QueueMetrics } from "../../src/telemetry/queue-metrics.js";
import { jobFence } from "../support/job-scene.js";
import { standInAlerts } from "./stand-in-alerts.js";
import { standInCrons } from "./stand-in-crons.js";
import { standInEngine } from "./stand-in-engine.js";

type Writeable<Shape> = { -readonly [Key in keyof Shape]: Shape[Key] };

/** A node that says what the test wants to hear. What it keeps is real: the settings, the access, the work, the metrics. */
export class StandInNode implements ServedNode {
  readonly id: string;
  readonly config: ServedNode["config"];
  readonly registry = new Registry();
  /** Aborted, its desk gives up the jobs. */
  readonly stopping = new AbortController();
  readonly work = new InFlightWork();
  readonly access: Access;
  readonly cluster: ClusterView;
  /** What its queues hold; the test fills them. */
  readonly queueTables = new MemoryQueueTables(() => Date.now());
  readonly queues = this.openQueues();
  /** What its jobs are; this node hands them out under epoch 7. */
  readonly jobTables = new MemoryJobTables(
    () => Date.now(),
    () => "g",
  );
  readonly jobs: Jobs;
  /** What its crons are; the test fills them. */
  readonly cronTables = new MemoryCronTables();
  readonly crons: Crons;
  /** What its alerts are; the test fills them. */
  readonly alertTables = new MemoryAlertTables();
  readonly alerts: ServedNode["alerts"];
  readonly functions: FunctionCalls;
  /** It has no graph, unless the test gives it one. */
  engine: ServedNode["engine"] = standInEngine((book) => this.troubled(book));
  readonly log: ServedNode["log"];
  configVersion = 7;

  /** By role; a role that is not here is unknown to this node. */
  readonly postures = new Map<string, Writeable<Posture>>();
  ready: Writeable<Readiness> = { database: true, migrations: true, registered: true, minNodes: true, draining: false };
  nodes: NodeRow[] = [];
  leases: RoleLease[] = [];
  transitions: Transition[] = [];
  /** The test says when it has news. */
  readonly leadership = new LeadershipNews();
  readonly asked: Asking[] = [];
  actedAt: number | null = 1_750_000_200_000;
  readonly auditRows: AuditRow[] = [];
  readonly lines: Record<string, unknown>[] = [];
  connections: () => number = () => 0;
  /** While it is set, whatever needs the database waits for this. */
  trouble: (() => Promise<never>) | null = null;
  /** How old a token is when it is made. */
  tokenAgeMs = 0;
  private readonly tokens: TokenRow[] = [];

  constructor(options: ConfigOptions = {}) {
    const cluster = { enabled: true, nodeId: "node-a", ...options.cluster };
    this.config = resolveConfig({ ...options, cluster }, true);
    this.id = this.config.cluster.nodeId;
    this.log = pino({ level: "debug" }, this.reader());
    this.access = new Access(this.book(), systemClock);
    this.cluster = this.view();
    this.stand("LEADER");
    this.jobs = this.openJobs();
    this.alerts = standInAlerts(this.alertTables, {
      id: this.id,
      config: this.config,
      log: this.log,
      posture: (role) => this.posture(role),
      troubled: (book) => this.troubled(book),
    });
    const { jobs, stopping } = this;
    const trouble = (): void => undefined;
    const nodes = async (): Promise<readonly NodeRow[]> => await this.cluster.nodes();
    this.functions = new FunctionCalls({ jobs, nodes, clock: systemClock, trouble });
    this.crons = standInCrons(this.cronTables, this.jobTables, {
      jobs,
      stopping,
      troubled: (book) => this.troubled(book),
    });
  }

  /** Of the primary role, or of the one named. */
  stand(role: Posture["role"], of = "scheduler", leaderId: string | null = this.id): void {
    const known = leaderId !== null;
    this.postures.set(of, {
      nodeId: this.id,
      role,
      isLeader: role === "LEADER" || (role === "DRAINING" && leaderId === this.id),
      leaderEpoch: known ? 7n : null,
      leaderId,
      leaderUrl: known ? `http://${leaderId}:7400` : null,
    });
  }

  posture(role: string = this.config.primaryRole): Posture {
    const posture = this.postures.get(role);
    if (posture === undefined) throw new HoldfastError("UNKNOWN_ROLE", `Role "${role}" is not known here.`);
    return posture;
  }

  readiness(): Readiness {
    return this.ready;
  }

  async clusterMetrics(): Promise<string> {
    return await this.ask(async () => await this.registry.metrics());
  }

  countConnections(read: () => number): void {
    this.connections = read;
  }

  load(): NodeLoad {
    const usage = { cpuUsage: 0.5, memoryUsage: 0.25 };
    return { currentConnections: 4, currentJobs: 3, ...usage, contends: ["scheduler"], configVersion: 7 };
  }

  /** A token of the role, and its secret. */
  async token(role: AccessRole, grants: readonly Grant[] = [], name = `${role}-token`): Promise<string> {
    const { secret } = await this.access.create({ name, role, grants, lifetimeMs: null }, "test");
    await this.access.refresh();
    return secret;
  }

  async bearer(role: AccessRole, grants: readonly Grant[] = []): Promise<{ authorization: string }> {
    return { authorization: `Bearer ${await this.token(role, grants)}` };
  }

  private async ask<Result>(answer: () => Result | Promise<Result>): Promise<Result> {
    if (this.trouble !== null) return await this.trouble();
    return await answer();
  }

  private openQueues(): Queues {
    const now = (): number => Date.now();
    const book = new MemoryQueueBook(this.queueTables, now, async (_fence, fn) => {
      await fn({ onCommit: (effect) => effect() });
    });
    return new Queues({
      store: {
        queue: this.troubled(book),
        queueView: this.troubled(memoryQueueView(this.queueTables, now)),
      },
      metrics: new QueueMetrics(new Registry(), "holdfast_"),
      clock: systemClock,
      defaults: usualDefaults,
    });
  }

  private openJobs(): Jobs {
    const book = new MemoryJobBook(this.jobTables, async (_fence, fn) => {
      await fn({ onCommit: (effect) => effect() });
    });
    return new Jobs({
      book: this.troubled(book),
      settings: jobSettingsOf(resolveConfig({}, true)),
      clock: systemClock,
      random: () => 0.5,
      role: () => ({
        gate: { requireLeader: () => ({ epoch: 7n, holder: "node-a" }), ensureEpoch: () => undefined },
        lead: (fn) => void fn({ fence: jobFence, signal: this.stopping.signal }),
      }),
      counts: { submitted: () => undefined, staleResults: () => undefined },
      trouble: () => undefined,
    }).open();
  }

  /** The same, as far away as the database. */
  private troubled<Book extends object>(book: Book): Book {
    return new Proxy(book, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return async (...given: unknown[]) => await this.ask(() => Reflect.apply(value, target, given) as unknown);
      },
    });
  }

  private view(): ClusterView {
    const unused = async (): Promise<never> => await Promise.reject(new Error("the server does not ask this"));
    return {
      nodes: async () => await this.ask(() => this.nodes),
      leases: async () => await this.ask(() => this.leases),
      info: async () =>
        await this.ask(() => ({
          name: this.config.cluster.name,
          totalNodes: 4,
          activeNodes: 1,
          drainingNodes: 1,
          deadNodes: 1,
          joiningNodes: 1,
          leaders: { scheduler: "node-a" },
        })),
      history: async (role, page = { limit: 100 }) =>
        await this.ask(() => {
          const older = this.transitions.filter(
            ({ id }) => page.before === undefined || Number(id) < Number(page.before),
          );
          return older.filter((line) => role === undefined || line.role === role).slice(0, page.limit);
        }),
      ask: async (asking) =>
        await this.ask(() => {
          this.asked.push(asking);
          return {
            id: "12",
            kind: asking.kind,
            nodeId: (asking.nodeId ?? "node-a") as NodeId,
            incarnation: "i" as never,
            role: (asking.role ?? null) as never,
            to: asking.to ?? null,
            requestedBy: asking.requestedBy,
            requestedAt: 1_750_000_100_000,
            actedAt: this.actedAt,
            outcome: this.actedAt === null ? null : { kind: "done" as const },
          };
        }),
      watchLeaders: (watcher) => this.leadership.watch(watcher),
      node: async (id) =>
        await this.ask(() => {
          const found = this.nodes.find(({ nodeId }) => nodeId === id);
          if (found === undefined) throw new HoldfastError("UNKNOWN_NODE", `There is no node "${id}" here.`);
          return found;
        }),
      byStatus: unused,
      counts: unused,
    };
  }

  private book(): AccessBook {
    return {
      tokens: async () =>
        await this.ask(() => ({ now: Date.now(), accessVersion: this.tokens.length, tokens: [...this.tokens] })),
      createToken: async ({ lifetimeMs, ...order }) =>
        await this.ask(() => {
          const at = Date.now() - this.tokenAgeMs;
          const expiresAt = lifetimeMs === null ? null : at + lifetimeMs;
          const id = `${this.tokens.length + 1}`;
          const token: TokenRow = { ...order, id, createdAt: at, expiresAt, revokedAt: null };
          this.tokens.push(token);
          return token;
        }),
      revokeToken: async (id) =>
        await this.ask(() => {
          const index = this.tokens.findIndex((token) => token.id === id);
          const token = this.tokens[index];
          if (token === undefined) return null;
          const revoked = { ...token, revokedAt: Date.now() };
          this.tokens[index] = revoked;
          return revoked;
        }),
      beginAudit: async (entry) =>
        await this.ask(() => {
          const id = `${this.auditRows.length + 1}`;
          this.auditRows.unshift({ ...entry, outcome: "begun", id, nodeId: this.id, at: Date.now() });
          return id;
        }),
      finishAudit: async (id, outcome, target) =>
        await this.ask(() => {
          const index = this.auditRows.findIndex((row) => row.id === id);
          const row = this.auditRows[index];
          if (row !== undefined) this.auditRows[index] = { ...row, outcome, target: target ?? row.target };
        }),
      audit: async ({ limit, before }) =>
        await this.ask(() =>
          this.auditRows.filter(({ id }) => before === undefined || Number(id) < Number(before)).slice(0, limit),
        ),
    };
  }

  private reader(): Writable {
    return new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
        done();
      },
    });
  }
}

export const awayAtOnce = async (): Promise<never> =>
  await Promise.reject(new HoldfastError("DATABASE_AWAY", "connect ECONNREFUSED 10.1.2.3:5432"));

export function nodeRow(nodeId: string, given: Partial<NodeRow> = {}): NodeRow {
  return {
    nodeId: nodeId as NodeId,
    incarnation: "x" as NodeRow["incarnation"],
    status: "active",
    hostname: `host-of-${nodeId}`,
    pid: 4812,
    ipAddress: "10.0.0.5",
    httpPort: 7400,
    grpcPort: null,
    url: `http://${nodeId}:7400`,
    version: "0.1.0",
    roles: ["gateway"],
    workerCapabilities: ["gpu"],
    promotable: true,
    clustered: true,
    currentConnections: 3,
    currentJobs: 2,
    cpuUsage: 0.5,
    memoryUsage: 0.25,
    contends: ["scheduler"],
    configVersion: 7,
    startedAt: 1_750_000_000_000,
    lastHeartbeat: 1_750_000_123_400,
    heartbeatAgeMs: 100,
    ...given,
  };
}

export function lease(role: string, nodeId: string | null, given: Partial<RoleLease> = {}): RoleLease {
  return {
    role,
    epoch: 7n,
    nodeId,
    incarnation: nodeId === null ? null : "x",
    url: nodeId === null ? null : `http://${nodeId}:7400`,
    acquiredAt: nodeId === null ? null : 1_750_000_100_000,
    expiresAt: 1_750_000_153_400,
    remainingMs: 3_000,
    tenureMs: nodeId === null ? null : 23_400,
    ...given,
  };
}

export function transition(id: number, given: Partial<Transition> = {}): Transition {
  return {
    id: `${id}`,
    role: "scheduler" as Transition["role"],
    epoch: epochOf(id),
    event: "elected",
    reason: "crash",
    nodeId: "node-a" as NodeId,
    previousNodeId: "node-b" as NodeId,
    gapMs: 6.5,
    at: 1_750_000_000_500,
    ...given,
  };
}
