import { EventEmitter, once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { BenchProcess } from "./bench-process.js";
import { type Delivered, type Elected, type NodeExtras, roleName } from "./messages.js";
import type { QueueLoad } from "./queue/queue-load.js";
import type { BenchServer } from "./server.js";
import { msBetween } from "./statistics.js";

export interface Takeover {
  readonly nodeId: string;
  readonly at: bigint;
  /** From the kill, the freeze or the call, to `elected`. */
  readonly ms: number;
  /** What of it the acquires took, from sending to reply. */
  readonly acquireMs: number;
}

interface ClusterOptions extends NodeExtras {
  readonly schema: string;
  readonly standbys: number;
  readonly spares?: number;
}

interface Standing {
  readonly leader: string;
  readonly epoch: bigint;
}

const patienceMs = 180_000;
const lookMs = 10;
/** An heir waits for the lock in slices of 0.9 s. A kill may fall anywhere in one, so each round begins somewhere else. */
const longestPauseMs = 900;

let nodesNamed = 0;

/**
 * Nodes of one role, each in a process of its own, on a schema of their own. Spare processes have their modules loaded and
 * wait, so that what a round used up is replaced fast, and nothing starts while something is measured.
 */
export class Cluster {
  private readonly server: BenchServer;
  private readonly schema: string;
  private readonly size: number;
  private readonly spareCount: number;
  private readonly extras: NodeExtras;
  private readonly processes = new Map<string, BenchProcess>();
  private readonly spares: Promise<BenchProcess>[] = [];
  private readonly elections = new EventEmitter<{ elected: [Elected]; delivered: [Delivered] }>();

  constructor(server: BenchServer, { schema, standbys, spares = 1, ...extras }: ClusterOptions) {
    this.server = server;
    this.schema = schema;
    this.size = standbys + 1;
    this.spareCount = spares;
    this.extras = extras;
  }

  /** Brings the cluster to its size, and the spares to theirs. Everything that was started here has come to rest. */
  async fill(): Promise<void> {
    while (this.processes.size < this.size) await this.join();
    await Promise.all(this.spares);
  }

  /** One more node, in a process of its own. */
  async join(): Promise<string> {
    while (this.spares.length <= this.spareCount) this.spares.push(new BenchProcess("nodes", this.server.url).loaded());
    const spare = await this.spares.shift();
    if (spare === undefined) throw new Error("there is no spare process");
    const nodeId = `n${++nodesNamed}`;
    await this.joinIn(spare, [nodeId]);
    return nodeId;
  }

  /** Many nodes in one process, which is not one that a round may kill. */
  async joinIn(host: BenchProcess, nodeIds: readonly string[], withinMs = patienceMs): Promise<void> {
    for (const nodeId of nodeIds) this.processes.set(nodeId, host);
    host.on("message", (message) => {
      if (message.kind === "elected") this.elections.emit("elected", message);
      else if (message.kind === "delivered") this.elections.emit("delivered", message);
    });
    await host.ask({ kind: "join", schema: this.schema, nodeIds, extras: this.extras }, "joined", withinMs);
  }

  /** Resolves when the others know that this node contends, which it says with its beats: now it can be named as a successor. */
  async known(nodeId: string): Promise<void> {
    await this.until(`node ${nodeId} does not contend`, async () => {
      const { rowCount } = await this.server.session.query(
        `select from ${this.schema}.nodes where node_id = $1 and $2 = any (contends)`,
        [nodeId, roleName],
      );
      return rowCount === 1 ? nodeId : null;
    });
  }

  /** Ends a node that is of no more use, leader or not. */
  remove(nodeId: string): void {
    this.processes.get(nodeId)?.kill();
    this.processes.delete(nodeId);
  }

  /** Ends a process with all of its nodes. */
  removeAll(host: BenchProcess): void {
    for (const [nodeId, its] of this.processes) if (its === host) this.processes.delete(nodeId);
    host.kill();
  }

  /**
   * Waits until a crash would meet a cluster at rest, as the database tells it: the session that the lease row names holds
   * the role's lock, there is an heir, and it waits for that lock.
   */
  async settled(): Promise<Standing> {
    return await this.until("it has not come to rest", async () => {
      const { rows } = await this.server.session.query<{ holder: string; epoch: string; ready: boolean }>(
        standingOf(this.schema),
        [roleName],
      );
      const row = rows[0];
      const isReady = row?.ready === true && this.processes.has(row.holder);
      return isReady ? { leader: row.holder, epoch: BigInt(row.epoch) } : null;
    });
  }

  /** Looks again and again, until there is something. */
  private async until<Found>(trouble: string, look: () => Promise<Found | null>): Promise<Found> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const found = await look();
      if (found !== null) return found;
      if (performance.now() > deadline)
        throw new Error(`cluster ${this.schema}: ${trouble} after ${patienceMs / 1000} s`);
      await pause(lookMs);
    }
  }

  /** Somewhere in a slice of the heir's wait. */
  async pauseAnywhere(): Promise<void> {
    await pause(Math.random() * longestPauseMs);
  }

  async crash(): Promise<Takeover> {
    const { leader, epoch } = await this.settled();
    const elected = this.election(epoch);
    const killedAt = this.processOf(leader).signal("SIGKILL");
    this.processes.delete(leader);
    return await elected(killedAt);
  }

  /** A crash; and when the new leader's queue handed out its first message. */
  async crashOfQueue(): Promise<Takeover & { readonly deliveredAfterMs: number }> {
    const delivered = once(this.elections, "delivered", { signal: AbortSignal.timeout(patienceMs) });
    const takeover = await this.crash();
    const [{ at }] = (await delivered) as [Delivered];
    return { ...takeover, deliveredAfterMs: msBetween(takeover.at, at) };
  }

  /** Through the leader's queue. */
  async enqueue(load: QueueLoad, withinMs: number): Promise<void> {
    const { leader } = await this.settled();
    await this.processOf(leader).ask({ kind: "enqueue", nodeId: leader, load }, "enqueued", withinMs);
  }

  /** A leader that is not dead and does not run. Its process stays frozen until the end of the run. */
  async freeze(): Promise<Takeover & { readonly leaseEndsAfterMs: number }> {
    const { leader, epoch } = await this.settled();
    const elected = this.election(epoch);
    const frozenAt = this.processOf(leader).signal("SIGSTOP");
    // What it had sent before may still renew the lease; a moment later nothing does.
    await pause(300);
    const askedAt = process.hrtime.bigint();
    const { rows } = await this.server.session.query<{ remaining: number }>(
      `select ${this.schema}.ms_between(expires_at, clock_timestamp()) as remaining from ${this.schema}.leases where role = $1`,
      [roleName],
    );
    const leaseEndsAfterMs = msBetween(frozenAt, askedAt) + (rows[0]?.remaining ?? 0);
    return { ...(await elected(frozenAt)), leaseEndsAfterMs };
  }

  /** From the call of stepDown() in one process to `elected` in another. Answers with the node that stepped down, too. */
  async stepDown(to?: string): Promise<Takeover & { readonly from: string }> {
    const { leader, epoch } = await this.settled();
    const elected = this.election(epoch);
    const order = { kind: "stepDown", nodeId: leader, ...(to === undefined ? {} : { to }) } as const;
    const host = this.processOf(leader);
    // A refusal ends the wait for an election that then will not come.
    const [takeover] = await Promise.all([
      host.ask(order, "steppingDown").then(({ at }) => elected(at)),
      host.next("steppedDown"),
    ]);
    return { ...takeover, from: leader };
  }

  /** Listens at once; answers when a node has been elected to a later epoch. */
  private election(after: bigint): (from: bigint) => Promise<Takeover> {
    const elected = new Promise<Elected | null>((resolve) => {
      const settle = (message: Elected | null): void => {
        clearTimeout(timer);
        this.elections.off("elected", hear);
        resolve(message);
      };
      const hear = (message: Elected): void => {
        if (message.epoch > after) settle(message);
      };
      const timer = setTimeout(() => settle(null), patienceMs);
      this.elections.on("elected", hear);
    });
    return async (from) => {
      const message = await elected;
      if (message === null)
        throw new Error(`nobody was elected in cluster ${this.schema} within ${patienceMs / 1000} s`);
      const { nodeId, at, acquireMs } = message;
      return { nodeId, at, ms: msBetween(from, at), acquireMs };
    };
  }

  private processOf(nodeId: string): BenchProcess {
    const found = this.processes.get(nodeId);
    if (found === undefined) throw new Error(`node ${nodeId} has no process here`);
    return found;
  }

  async close(): Promise<void> {
    for (const host of [...this.processes.values(), ...(await Promise.all(this.spares))]) host.kill();
    this.processes.clear();
    this.spares.length = 0;
  }
}

const standingOf = (schema: string): string => `
  with locks as (
    select (l.classid::bigint << 32) | l.objid::bigint as key, l.pid, l.granted
    from pg_locks l
    where l.locktype = 'advisory' and l.objsubid = 1
      and l.database = (select oid from pg_database where datname = current_database())
  )
  select l.holder, l.epoch::text,
    l.expires_at > clock_timestamp()
    and exists (select from locks k where k.key = l.lock_key and k.granted
      and k.pid = split_part(l.lock_session, '@', 1)::integer)
    and exists (select from locks k where k.key = l.heir_key and k.granted)
    and exists (select from locks k where k.key = l.lock_key and not k.granted) as ready
  from ${pg.escapeIdentifier(schema)}.leases l where l.role = $1`;
