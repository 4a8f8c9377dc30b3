import {
  type Holder,
  type LeaseTerms,
  type LeaseView,
  type Sighting,
  vacantLease,
} from "../../src/election/core/lease.js";
import type { AcquireReply, BeatAnswer, BeatOrder, WaitReply } from "../../src/election/core/messages.js";
import {
  type Epoch,
  epochOf,
  type Incarnation,
  type NodeId,
  type Role,
  type SessionRef,
} from "../../src/election/core/names.js";
import { deriveTiming } from "../../src/election/core/timing.js";
import type { CampaignSession, FenceToken, LockSession, Store, WitnessSession } from "../../src/store/contract.js";
import { MemoryCluster } from "../../src/store/memory/cluster.js";
import { MemoryDatabase } from "../../src/store/memory/database.js";
import { MemoryStore } from "../../src/store/memory/store.js";
import { PostgresStore } from "../../src/store/postgres/store.js";
import { createTestDatabase, type TestDatabase, withClient } from "../support/postgres.js";

export const role = "scheduler" as Role;

// Requests may take as long as a busy machine makes them: nobody leads here by the clock of this process.
const timing = deriveTiming({
  heartbeatMs: 1_000,
  fenceMs: 15_000,
  ttlMs: 20_000,
  nodeTimeoutMs: 5_000,
  acquireDelayMs: 0,
  evidenceGraceMs: 0,
  drainTimeoutMs: 30_000,
});

const terms: LeaseTerms = { ttlMs: 5_000, onStall: "depose", takeover: "evidence", evidenceGraceMs: 0 };

/** A database that a test may do anything to, behind whichever store. */
export interface StoreHarness extends AsyncDisposable {
  /** A store as this node uses it. */
  open(node?: Pick<Holder, "nodeId" | "incarnation">): Promise<Store<unknown>>;
  /** Moves the database's clock on, or back, as far as any row with a time can tell. */
  advance(ms: number): Promise<void>;
  /** An administrator ends this session. */
  kill(ref: SessionRef): Promise<void>;
  /** From now on this is another database: a promoted replica, a restored copy. */
  becomeAnother(): Promise<void>;
  /** Every lease as on the first day. */
  reset(): Promise<void>;
}

export async function memoryHarness(): Promise<StoreHarness> {
  let skewMs = 0;
  const database = new MemoryDatabase({ now: () => Date.now() + skewMs });
  const shared = new MemoryCluster(database, (ms, fire) => {
    const timer = setTimeout(fire, ms);
    return () => clearTimeout(timer);
  });
  return await Promise.resolve({
    open: async () => await Promise.resolve(new MemoryStore(shared, timing.nodeTimeoutMs)),
    advance: async (ms) => {
      skewMs += ms;
      await Promise.resolve();
    },
    kill: async (ref) => {
      database.endSession(ref, "killed");
      await Promise.resolve();
    },
    becomeAnother: async () => {
      database.identity = `${database.identity}+` as typeof database.identity;
      await Promise.resolve();
    },
    reset: async () => {
      for (const name of database.leases.keys())
        database.leases.set(name, { ...vacantLease(name), identity: database.identity });
      await Promise.resolve();
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });
}

/** With a database given, its stores reach it by `url`, and whoever gave it drops it. */
export async function postgresHarness(given?: { database: TestDatabase; url: string }): Promise<StoreHarness> {
  const database = given?.database ?? (await createTestDatabase());
  const stores: PostgresStore[] = [];
  const run = async (sql: string, values: unknown[] = []): Promise<void> => {
    await withClient(database.url, (client) => client.query(sql, values));
  };
  return {
    open: async (node = { nodeId: "contract" as NodeId, incarnation: "contract-1" as Incarnation }) => {
      const connection = { connectionString: given?.url ?? database.url };
      const store = new PostgresStore({
        connection,
        electionConnection: connection,
        pool: null,
        poolSize: 2,
        schema: "holdfast",
        cluster: "default",
        migrate: "auto",
        timing,
        node,
        warn: () => undefined,
      });
      stores.push(store);
      await store.prepare();
      return store;
    },
    advance: (ms) =>
      run(
        `with step as (select $1 * interval '1 millisecond' as back),
         lanes as (
           update holdfast.lanes set leased_until = leased_until - back, wait_until = wait_until - back from step),
         segments as (update holdfast.queue_segments set closed_at = closed_at - back from step),
         jobs as (
           update holdfast.jobs set
             waits_until = waits_until - back, run_until = run_until - back, created_at = created_at - back,
             updated_at = updated_at - back
           from step),
         job_leases as (
           update holdfast.job_leases set leased_until = leased_until - back, due_at = due_at - back from step),
         events as (update holdfast.events set at = at - back from step),
         agents as (
           update holdfast.agents set
             first_seen = first_seen - back, last_heartbeat = last_heartbeat - back, deleted_at = deleted_at - back
           from step),
         crons as (
           update holdfast.crons set last_tick = last_tick - back, gone_at = gone_at - back from step),
         cron_ticks as (update holdfast.cron_ticks set tick = tick - back, decided_at = decided_at - back from step),
         history as (update holdfast.history set at = at - back from step),
         audit as (update holdfast.audit set at = at - back from step),
         snapshots as (update holdfast.snapshots set at = at - back from step),
         metric_processes as (update holdfast.metric_processes set taken_at = taken_at - back from step),
         metric_points as (update holdfast.metric_points set at = at - back from step),
         alert_rounds as (update holdfast.alert_rounds set at = at - back from step),
         alert_samples as (update holdfast.alert_samples set at = at - back from step),
         alerts as (
           update holdfast.alerts set
             active_since = active_since - back, fired_at = fired_at - back, resolved_at = resolved_at - back
           from step),
         alert_notifications as (
           update holdfast.alert_notifications set
             at = at - back, due_at = due_at - back, leased_until = leased_until - back, done_at = done_at - back
           from step)
         update holdfast.leases set
           acquired_at = acquired_at - back, renewed_at = renewed_at - back,
           expires_at = expires_at - back, reserved_until = reserved_until - back
         from step`,
        [ms],
      ),
    kill: (ref) => run("select pg_terminate_backend($1)", [Number(ref.split("@")[0])]),
    becomeAnother: () => run("update holdfast.leases set identity = identity || '+'"),
    reset: () =>
      run(
        `update holdfast.leases set epoch = 0, holder = null, incarnation = null, expires_at = to_timestamp(0), ttl_ms = 0,
           on_stall = 'depose', takeover = 'evidence', identity = holdfast.identity(), lock_session = null, witness_session = null, reserved_for = null`,
      ),
    [Symbol.asyncDispose]: async () => {
      for (const store of stores) await store.close();
      if (given === undefined) await database.drop();
    },
  };
}

/** One node's side of the contract, without an elector: the test says what it does. */
export class Player implements AsyncDisposable {
  readonly store: Store<unknown>;
  readonly holder: Holder;
  readonly lost: string[] = [];
  lock: LockSession;
  witness: WitnessSession;
  campaign: CampaignSession;

  private constructor(store: Store<unknown>, holder: Holder, sessions: [LockSession, WitnessSession, CampaignSession]) {
    this.store = store;
    this.holder = holder;
    [this.lock, this.witness, this.campaign] = sessions;
  }

  static async join(harness: StoreHarness, name: string): Promise<Player> {
    const holder = { nodeId: name as NodeId, incarnation: `${name}-1` as Incarnation, url: `http://${name}` };
    const store = await harness.open(holder);
    await store.ensureRoles([{ role, lockKey: null }]);
    await store.registry.join({
      ...holder,
      status: "active",
      hostname: "test",
      pid: 1,
      ipAddress: null,
      httpPort: null,
      grpcPort: null,
      version: "0",
      roles: [],
      workerCapabilities: [],
      promotable: true,
      clustered: true,
    });
    const events = { closed: () => undefined, notice: () => undefined };
    return new Player(store, holder, [
      await store.openLock(events),
      await store.openWitness(events),
      await store.openCampaign(role, events),
    ]);
  }

  get sessions(): { lock: SessionRef | null; witness: SessionRef | null } {
    return { lock: this.lock.ref, witness: this.witness.ref };
  }

  async beat(order: Partial<BeatOrder> = {}): Promise<{ answer: BeatAnswer | undefined; view: LeaseView }> {
    const orders = [{ role, renew: null, lock: null, heir: null, ...order }];
    const reply = await this.lock.beat(orders, this.sessions);
    return {
      answer: reply.answers.find((answer) => answer.role === role),
      view: reply.leases.find((lease) => lease.role === role) as LeaseView,
    };
  }

  async renew(epoch: bigint): Promise<string> {
    const { answer } = await this.beat({ renew: epochOf(epoch) });
    const renewal = answer?.renewal;
    return renewal?.kind === "lost" ? renewal.reason : (renewal?.kind ?? "none");
  }

  acquire(
    wishes: { terms?: Partial<LeaseTerms>; delayMs?: number; sighting?: Sighting; servedMs?: number } = {},
  ): Promise<AcquireReply> {
    const evidence =
      wishes.sighting === undefined ? null : { sighting: wishes.sighting, graceServedMs: wishes.servedMs ?? 0 };
    const request = {
      holder: this.holder,
      terms: { ...terms, ...wishes.terms },
      sessions: this.sessions,
      acquireDelayMs: wishes.delayMs ?? 0,
      evidence,
    };
    return this.campaign.acquire(request, 2_000);
  }

  /** Acquires, and takes the role's lock as every leader does with its first renewal. */
  async lead(wishes: { terms?: Partial<LeaseTerms> } = {}): Promise<Epoch> {
    const reply = await this.acquire(wishes);
    if (reply.kind !== "acquired") throw new Error(`expected to acquire, got ${reply.kind}`);
    await this.beat({ renew: reply.epoch, lock: "take" });
    return reply.epoch;
  }

  async release(epoch: bigint, to: string | null = null, reserveMs = 20_000): Promise<void> {
    const order = {
      role,
      epoch: epochOf(epoch),
      to: to as NodeId | null,
      reserveMs,
      dropLock: false,
      reason: "stepped_down",
    } as const;
    await this.lock.release(order);
  }

  wait(prior: Sighting | null = null, sliceMs = 60): Promise<WaitReply> {
    return this.campaign.wait(prior, sliceMs);
  }

  /** What the heir sees of a living leader. */
  async sight(): Promise<Sighting> {
    const reply = await this.wait(null, 20);
    if (reply.kind !== "timeout") throw new Error(`expected to see a leader, got ${reply.kind}`);
    return reply.sighting;
  }

  fence(epoch: bigint): FenceToken {
    return { role, epoch: epochOf(epoch), holder: this.holder };
  }

  /** As a crash does: every session of the process ends at once, by its client. */
  crash(): void {
    for (const session of [this.lock, this.witness, this.campaign]) session.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.crash();
    await Promise.resolve();
  }
}

/** Asks again while the sessions of a dead process linger, as the heir does. */
export async function acquireAfterCrash(
  heir: Player,
  sighting: Sighting,
  wishes: { servedMs?: number } = {},
): Promise<AcquireReply> {
  for (;;) {
    const reply = await heir.acquire({ sighting, ...wishes });
    if (reply.kind !== "lingering") return reply;
  }
}
