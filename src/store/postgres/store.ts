import pg from "pg";
import type { LeaseView } from "../../election/core/lease.js";
import type { Notice } from "../../election/core/messages.js";
import { type Epoch, epochOf, type Incarnation, type NodeId, type Role } from "../../election/core/names.js";
import type { Timing } from "../../election/core/timing.js";
import { HoldfastError, invariant } from "../../errors.js";
import type { NodeReport, NodeRow, NodeStatus } from "../../membership/node-row.js";
import type {
  CampaignSession,
  FenceToken,
  LockSession,
  RoleOrder,
  SessionEvents,
  Store,
  Transition,
  WitnessSession,
} from "../contract.js";
import { PostgresCampaignSession } from "./campaign-session.js";
import { fencedTransaction } from "./fence.js";
import { openLockSession } from "./lock-session.js";
import { checkMigrations, migrate, readMigrations } from "./migrations.js";
import { type LeaseJson, readLease } from "./replies.js";
import { type NodeJson, readNode, readTransition, type TransitionJson, toRegistryJson } from "./rows.js";
import { applicationName, type ElectionClient, openElectionClient, type SessionOptions } from "./session.js";
import { toHoldfastError } from "./sql-errors.js";
import { PostgresWitnessSession } from "./witness-session.js";

/** What a fenced function gets, and what a user may bring: the `pg` driver's own. */
export type PostgresTransaction = pg.ClientBase;
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
  private report: NodeReport | null = null;
  private witness: PostgresWitnessSession | null = null;

  constructor(options: PostgresStoreOptions) {
    this.options = options;
    this.schema = pg.escapeIdentifier(options.schema);
    this.pool = options.pool ?? openPool(options);
  }

  async prepare(): Promise<void> {
    await this.asking(
      "preparing the schema",
      async (client) => {
        const migrations = await readMigrations();
        if (this.options.migrate === "auto") await migrate(client, this.options.schema, migrations);
        else await checkMigrations(client, this.options.schema, migrations);
        const { rows } = await client.query<{ owner: string }>(`select ${this.schema}.claim_schema($1) as owner`, [
          this.options.cluster,
        ]);
        const owner = rows[0]?.owner;
        if (owner !== this.options.cluster) {
          throw new HoldfastError(
            "SCHEMA_IN_USE",
            `Schema "${this.options.schema}" belongs to cluster "${owner}", not "${this.options.cluster}": set another store.schema or cluster.name.`,
          );
        }
      },
      noTimeout,
    );
  }

  async ensureRoles(roles: readonly RoleOrder[]): Promise<void> {
    await this.asking("adding a role", async (client) => {
      for (const { role, lockKey } of roles) {
        await client.query(`select ${this.schema}.ensure_role($1, $2)`, [role, lockKey?.toString() ?? null]);
      }
    });
  }

  async join(report: NodeReport): Promise<void> {
    this.report = report;
    await this.asking("joining", (client) => this.enter(client, report));
  }

  private async enter(
    client: { query(text: string, values: unknown[]): Promise<unknown> },
    report: NodeReport,
  ): Promise<void> {
    const answer = await client.query(`select ${this.schema}.join_node($1, $2) as taken_by`, [
      JSON.stringify(toRegistryJson(report)),
      Math.ceil(this.options.timing.nodeTimeoutMs),
    ]);
    const rows = Array.isArray(answer) ? answer : (answer as pg.QueryResult).rows;
    const takenBy = (rows as { taken_by: { hostname: string; pid: number } | null }[])[0]?.taken_by ?? null;
    if (takenBy === null) return;
    throw new HoldfastError(
      "NODE_ID_TAKEN",
      `Node id "${report.nodeId}" is taken by pid ${takenBy.pid} on ${takenBy.hostname}: give each process its own cluster.node_id.`,
    );
  }

  setStatus(status: NodeStatus): void {
    if (this.report !== null) this.report = { ...this.report, status };
  }

  async leave(): Promise<void> {
    const { report } = this;
    if (report === null) return;
    this.setStatus("left");
    await this.asking("leaving", (client) =>
      client.query(`select ${this.schema}.leave($1, $2)`, [report.nodeId, report.incarnation]),
    );
  }

  async nodes(): Promise<readonly NodeRow[]> {
    return await this.asking("reading the nodes", async (client) => {
      const { rows } = await client.query<NodeJson>(
        `select node_id, incarnation, clustered, status, hostname, pid, url, version, roles, promotable,
           ${this.schema}.ms_since_1970(started_at) as started_at, ${this.schema}.ms_since_1970(last_heartbeat) as last_heartbeat,
           ${this.schema}.ms_between(clock_timestamp(), last_heartbeat) as heartbeat_age_ms
         from ${this.schema}.nodes order by node_id`,
      );
      return rows.map(readNode);
    });
  }

  async leases(): Promise<readonly LeaseView[]> {
    return await this.asking("reading the leases", async (client) => {
      const { rows } = await client.query<{ lease: LeaseJson; identity: string | null }>(
        `select ${this.schema}.lease_view(l) as lease, ${this.schema}.identity() as identity from ${this.schema}.leases l order by role`,
      );
      return rows.map((row) => readLease(row.lease, row.identity));
    });
  }

  async history(filter: { readonly role?: Role; readonly limit: number }): Promise<readonly Transition[]> {
    return await this.asking("reading the history", async (client) => {
      const { rows } = await client.query<TransitionJson>(
        `select role, epoch::text, event, reason, node_id, previous_node_id, gap_ms, ${this.schema}.ms_since_1970(at) as at
         from ${this.schema}.history where $1::text is null or role = $1 order by id desc limit $2`,
        [filter.role ?? null, filter.limit],
      );
      return rows.map(readTransition);
    });
  }

  openLock(events: SessionEvents): Promise<LockSession> {
    const owner = {
      report: () => this.reportOrFail(),
      rejoin: (client: ElectionClient) => this.enter(client, this.reportOrFail()),
    };
    return openLockSession(this.session("lock"), owner, events);
  }

  async openWitness(events: SessionEvents & { notice(role: Role, notice: Notice): void }): Promise<WitnessSession> {
    this.witness = await PostgresWitnessSession.open(this.session("witness"), events);
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
    const run = (key: string): Promise<Result> => fencedTransaction(this.pool, this.schema, { fence, key }, fn);
    const key = this.fenceKeys.get(fence.role);
    return key === undefined ? this.readFenceKey(fence.role).then(run) : run(key);
  }

  /** A role's key never changes; once read, it saves every transaction a look at the row. */
  private async readFenceKey(role: Role): Promise<string> {
    return await this.asking("reading a role's fence key", async (client) => {
      const { rows } = await client.query<{ key: string }>(
        `select fence_key::text as key from ${this.schema}.leases where role = $1`,
        [role],
      );
      const key = rows[0]?.key;
      if (key === undefined) throw new HoldfastError("UNKNOWN_ROLE", `Role "${role}" is not known in this schema.`);
      this.fenceKeys.set(role, key);
      return key;
    });
  }

  async verify(fence: FenceToken): Promise<boolean> {
    return await this.asking("verifying a term", async (client) => {
      const { rowCount } = await client.query(
        `select from ${this.schema}.leases
         where role = $1 and epoch = $2 and incarnation = $3 and expires_at > clock_timestamp()`,
        [fence.role, fence.epoch.toString(), fence.holder.incarnation],
      );
      return rowCount === 1;
    });
  }

  async advanceEpoch(role: Role, to: Epoch): Promise<Epoch> {
    return await this.asking("advancing an epoch", async (client) => {
      const { rows } = await client.query<{ epoch: string }>(
        `select ${this.schema}.advance_epoch($1, $2)::text as epoch`,
        [role, to.toString()],
      );
      return epochOf(rows[0]?.epoch ?? "0");
    });
  }

  async close(): Promise<void> {
    if (this.options.pool === null) await this.pool.end();
  }

  private reportOrFail(): NodeReport {
    invariant(this.report !== null, "a session was opened before the node joined");
    return this.report;
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

  /** Asks over the pool. A question gets so long; a migration, as long as it takes. */
  private async asking<Result>(
    doing: string,
    ask: (client: pg.PoolClient) => Promise<Result>,
    timeoutMs = askTimeoutMs,
  ): Promise<Result> {
    let client: pg.PoolClient | null = null;
    let failed = false;
    const asked = this.pool.connect().then((connected) => {
      client = connected;
      return ask(connected);
    });
    // Whatever the connection still carries: the pool drops it, also one that comes when nobody waits any more.
    const release = (): void => client?.release(failed);
    try {
      return await answered(asked, timeoutMs);
    } catch (error) {
      failed = true;
      throw toHoldfastError(error, doing);
    } finally {
      if (client === null) asked.then(release, release);
      else release();
    }
  }
}

const askTimeoutMs = 10_000;
const noTimeout = 2 ** 31 - 1;

async function answered<Result>(answer: Promise<Result>, timeoutMs: number): Promise<Result> {
  let late: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    late = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms: timeout`)), timeoutMs);
  });
  answer.catch(() => undefined); // It may fail after nobody waits for it any more.
  try {
    return await Promise.race([answer, timeout]);
  } finally {
    clearTimeout(late);
  }
}

function openPool(options: PostgresStoreOptions): pg.Pool {
  const pool = new pg.Pool({
    ...options.connection,
    max: options.poolSize,
    connectionTimeoutMillis: 5_000,
    application_name: applicationName("pool", options.node.incarnation, options.node.nodeId),
  });
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on("error", (error) => options.warn("an idle connection of the pool broke", { reason: error.message }));
  return pool;
}
