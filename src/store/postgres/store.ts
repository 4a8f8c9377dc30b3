import pg from "pg";
import type { LeaseView } from "../../election/core/lease.js";
import type { Notice } from "../../election/core/messages.js";
import { type Epoch, epochOf, type Incarnation, type NodeId, type Role } from "../../election/core/names.js";
import type { Timing } from "../../election/core/timing.js";
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
import type { OutsideDatabase, OutsideOptions } from "../outside-contract.js";
import type { QueueBook } from "../queue-contract.js";
import type { QueueView } from "../queue-view-contract.js";
import type { WorkerBook } from "../worker-contract.js";
import { accessBook } from "./access-book.js";
import { alertBook } from "./alert-book.js";
import { PostgresCampaignSession } from "./campaign-session.js";
import { compactionBook } from "./compaction-book.js";
import { PostgresConnectionBook } from "./connection-book.js";
import { PostgresCronBook } from "./cron-book.js";
import { PostgresEngineBook } from "./engine-book.js";
import { fencedTransaction } from "./fence.js";
import { fencedMessage, type MessageReply, type TransactionMessage } from "./fenced-message.js";
import { GuardedClient } from "./guarded-client.js";
import { PostgresJobBook } from "./job-book.js";
import { ensureLeaseRow } from "./lease-row.js";
import { openLockSession } from "./lock-session.js";
import { metricsBook } from "./metrics-book.js";
import { checkMigrations, migrate, readMigrations } from "./migrations.js";
import { PostgresOutside } from "./outside-database.js";
import { noTimeout, type Questions, questionsOver } from "./questions.js";
import { PostgresQueueBook } from "./queue-book.js";
import { queueView } from "./queue-view.js";
import { PostgresRegistry } from "./registry.js";
import { type LeaseJson, readLease } from "./replies.js";
import { requestBook } from "./request-book.js";
import { readTransition, type TransitionJson } from "./rows.js";
import { applicationName, openElectionClient, type SessionOptions } from "./session.js";
import { snapshotBook } from "./snapshot-book.js";
import { PostgresWitnessSession } from "./witness-session.js";
import { workerBook } from "./worker-book.js";

/** What a fenced function gets, and what a user may bring: the `pg` driver's own. */
export type PostgresTransaction = pg.ClientBase;
/** A pool of your own, for fenced transactions and reads. */
export type PostgresPool = pg.Pool;

export interface PostgresStoreOptions {
  readonly connection: pg.ClientConfig;
  /** A direct way for beats and locks, where `connection` goes through a pooler. */
  readonly electionConnection: pg.ClientConfig;
  /** The user's own pool for fenced transactions; without it the store opens one. */
  readonly pool: pg.Pool | null;
  readonly poolSize: number;
  readonly schema: string;
  readonly cluster: string;
  readonly migrate: "auto" | "check";
  readonly timing: Timing;
  readonly node: { readonly nodeId: NodeId; readonly incarnation: Incarnation };
  /** Told when something outside Holdfast should be known to an operator. */
  readonly warn: (message: string, details: Record<string, unknown>) => void;
}

/** The store on PostgreSQL 15 to 18. The decisions are SQL functions (migrations/); this is the way to them. */
export class PostgresStore implements Store<pg.ClientBase> {
  private readonly options: PostgresStoreOptions;
  private readonly schema: string;
  private readonly pool: pg.Pool;
  private readonly fenceKeys = new Map<Role, string>();
  readonly registry: PostgresRegistry;
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
  readonly openOutside = (options: OutsideOptions): OutsideDatabase => new PostgresOutside(options);
  readonly metrics: MetricsBook;
  readonly alerts: AlertBook;
  readonly compaction: CompactionBook;
  private readonly questions: Questions;
  private refused: (fence: FenceToken) => void = () => undefined;
  private witness: PostgresWitnessSession | null = null;

  constructor(options: PostgresStoreOptions) {
    this.options = options;
    this.schema = pg.escapeIdentifier(options.schema);
    this.pool = options.pool ?? openPool(options);
    this.questions = questionsOver(this.pool, this.schema);
    this.registry = new PostgresRegistry(this.questions, options.timing.nodeTimeoutMs);
    this.requests = requestBook(this.questions, options.node);
    this.access = accessBook(this.questions, options.node.nodeId);
    this.snapshots = snapshotBook(this.questions, options.node);
    this.queueView = queueView(this.questions);
    this.queue = new PostgresQueueBook(
      this.questions,
      (fence, fn) => this.ownTransaction(fence, fn),
      (fence, message) => this.message(fence, message),
    );
    const send = (fence: FenceToken, message: TransactionMessage) => this.message(fence, message);
    this.jobs = new PostgresJobBook(this.questions, send);
    this.crons = new PostgresCronBook(this.questions, send);
    this.engine = new PostgresEngineBook(this.questions, send);
    this.connections = new PostgresConnectionBook(this.questions, send);
    this.metrics = metricsBook(this.questions, send);
    this.alerts = alertBook(this.questions, options.node);
    this.compaction = compactionBook(this.questions, send);
    this.workers = workerBook(this.questions, options.node);
  }

  async prepare(): Promise<void> {
    const { migrate: mode, schema, cluster } = this.options;
    await this.questions.ask(
      "preparing the schema",
      async (client) => {
        const migrations = await readMigrations();
        if (mode === "auto") await migrate(client, schema, migrations);
        else await checkMigrations(client, schema, migrations);
        const { rows } = await client.query<{ owner: string }>(`select ${this.schema}.claim_schema($1) as owner`, [
          cluster,
        ]);
        const owner = rows[0]?.owner;
        if (owner !== cluster) {
          throw new HoldfastError(
            "SCHEMA_IN_USE",
            `Schema "${schema}" belongs to cluster "${owner}", not "${cluster}": set another store.schema or cluster.name.`,
          );
        }
      },
      noTimeout,
    );
  }

  async ensureRoles(roles: readonly RoleOrder[]): Promise<void> {
    await this.questions.ask("adding a role", async (client) => {
      for (const order of roles) await ensureLeaseRow(client, this.schema, order, this.options.timing.ttlMs);
    });
  }

  async leases(): Promise<readonly LeaseView[]> {
    const rows = await this.questions.rows<{ lease: LeaseJson; identity: string | null }>(
      "reading the leases",
      `select ${this.schema}.lease_view(l) as lease, ${this.schema}.identity() as identity from ${this.schema}.leases l order by role`,
    );
    return rows.map((row) => readLease(row.lease, row.identity));
  }

  async history(filter: HistoryFilter): Promise<readonly Transition[]> {
    const rows = await this.questions.rows<TransitionJson>(
      "reading the history",
      `select id::text, role, epoch::text, event, reason, node_id, previous_node_id, gap_ms, ${this.schema}.ms_since_1970(at) as at
       from ${this.schema}.history
       where ($1::text is null or role = $1) and ($2::bigint is null or history.id < $2) order by history.id desc limit $3`,
      [filter.role ?? null, filter.before ?? null, filter.limit],
    );
    return rows.map(readTransition);
  }

  openLock(events: SessionEvents): Promise<LockSession> {
    return openLockSession(this.session("lock"), this.registry, events);
  }

  async openWitness(events: SessionEvents & { notice(role: Role, notice: Notice): void }): Promise<WitnessSession> {
    const hint = (kind: "requested" | "worker_order" | "worker_answer"): void => this.registry.tell({ kind });
    this.witness = await PostgresWitnessSession.open(this.session("witness"), { ...events, hint });
    // What was said while nobody listened.
    for (const kind of ["worker_order", "worker_answer"] as const) hint(kind);
    return this.witness;
  }

  async openCampaign(role: Role, events: SessionEvents): Promise<CampaignSession> {
    const client = await openElectionClient(this.session("campaign"), events);
    const session = new PostgresCampaignSession(client, this.schema, role, async (pid) => {
      const report = await this.witness?.endBlockers(role, pid);
      if (report === undefined || report.ended + report.refused + report.prepared === 0) return;
      this.options.warn("sessions stood in the way of a takeover", { role, ...report });
    });
    await session.warmUp();
    return session;
  }

  transaction<Result>(fence: FenceToken, fn: (tx: pg.ClientBase) => Promise<Result>): Promise<Result> {
    return this.withFenceKey(fence.role, (key) => fencedTransaction(this.pool, this.schema, { fence, key }, fn));
  }

  onRefused(listener: (fence: FenceToken) => void): void {
    this.refused = listener;
  }

  private ownTransaction<Result>(fence: FenceToken, fn: (tx: pg.ClientBase) => Promise<Result>): Promise<Result> {
    return this.tellIfRefused(fence, (key) => fencedTransaction(this.pool, this.schema, { fence, key, own: true }, fn));
  }

  /** The same, for what can be sent in one message. */
  private message(fence: FenceToken, message: TransactionMessage): Promise<MessageReply> {
    return this.tellIfRefused(fence, (key) => fencedMessage(this.pool, this.schema, { fence, key }, message));
  }

  private async tellIfRefused<Result>(fence: FenceToken, run: (key: string) => Promise<Result>): Promise<Result> {
    try {
      return await this.withFenceKey(fence.role, run);
    } catch (error) {
      if (error instanceof StaleEpochError) this.refused(fence);
      throw error;
    }
  }

  private withFenceKey<Result>(role: Role, run: (key: string) => Promise<Result>): Promise<Result> {
    const key = this.fenceKeys.get(role);
    return key === undefined ? this.readFenceKey(role).then(run) : run(key);
  }

  /** A role's key never changes; once read, it saves every transaction a look at the row. */
  private async readFenceKey(role: Role): Promise<string> {
    const rows = await this.questions.rows<{ key: string }>(
      "reading a role's fence key",
      `select fence_key::text as key from ${this.schema}.leases where role = $1`,
      [role],
    );
    const key = rows[0]?.key;
    if (key === undefined) throw new HoldfastError("UNKNOWN_ROLE", `Role "${role}" is not known in this schema.`);
    this.fenceKeys.set(role, key);
    return key;
  }

  async verify(fence: FenceToken): Promise<boolean> {
    const rows = await this.questions.rows(
      "verifying a term",
      `select from ${this.schema}.leases
       where role = $1 and epoch = $2 and incarnation = $3 and expires_at > clock_timestamp()`,
      [fence.role, fence.epoch.toString(), fence.holder.incarnation],
    );
    return rows.length === 1;
  }

  async advanceEpoch(role: Role, to: Epoch): Promise<Epoch> {
    const rows = await this.questions.rows<{ epoch: string }>(
      "advancing an epoch",
      `select ${this.schema}.advance_epoch($1, $2)::text as epoch`,
      [role, to.toString()],
    );
    return epochOf(rows[0]?.epoch ?? "0");
  }

  async close(): Promise<void> {
    if (this.options.pool === null) await this.pool.end();
  }

  private session(purpose: SessionOptions["purpose"]): SessionOptions & { readonly quotedSchema: string } {
    return {
      connection: this.options.electionConnection,
      schema: this.options.schema,
      quotedSchema: this.schema,
      purpose,
      nodeId: this.options.node.nodeId,
      incarnation: this.options.node.incarnation,
      timing: this.options.timing,
    };
  }
}

function openPool(options: PostgresStoreOptions): pg.Pool {
  const pool = new pg.Pool({
    ...options.connection,
    Client: GuardedClient,
    max: options.poolSize,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    // Longer than the time between two copies of the metrics, or each would cost the server a new session.
    idleTimeoutMillis: 30_000,
    application_name: applicationName("pool", options.node.incarnation, options.node.nodeId),
  });
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on("error", (error) => options.warn("an idle connection of the pool broke", { reason: error.message }));
  return pool;
}
