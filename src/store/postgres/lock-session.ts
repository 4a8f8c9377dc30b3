import type { NodeSessions } from "../../election/core/lease.js";
import type { BeatOrder, BeatReply } from "../../election/core/messages.js";
import type { DatabaseIdentity } from "../../election/core/names.js";
import { HoldfastError } from "../../errors.js";
import type { NodeReport } from "../../membership/node-row.js";
import type { LockSession, ReleaseOrder, SessionEvents } from "../contract.js";
import type { PostgresRegistry } from "./registry.js";
import { type BeatJson, readBeat, readNews } from "./replies.js";
import { toLoadJson } from "./rows.js";
import { type ElectionClient, openElectionClient, type SessionOptions } from "./session.js";
import { toHoldfastError } from "./sql-errors.js";

export async function openLockSession(
  options: SessionOptions & { readonly quotedSchema: string },
  registry: PostgresRegistry,
  events: SessionEvents,
): Promise<LockSession> {
  const client = await openElectionClient(options, events);
  const schema = options.quotedSchema;
  try {
    await takeMembership(client, schema, registry.current(), options.timing.nodeTimeoutMs);
    const identity = await readIdentity(client, schema);
    client.ready();
    return new PostgresLockSession(client, registry, { schema, identity, nodeTimeoutMs: options.timing.nodeTimeoutMs });
  } catch (error) {
    client.close();
    throw toHoldfastError(error, "opening the lock session");
  }
}

async function readIdentity(client: ElectionClient, schema: string): Promise<DatabaseIdentity | null> {
  const rows = await client.query<{ identity: string | null }>(`select ${schema}.identity() as identity`);
  return (rows[0]?.identity ?? null) as DatabaseIdentity | null;
}

/**
 * Nodes of a cluster share the schema; a node outside one keeps it for itself. Behind a pooler no lock can tell, so the
 * beats of the others have to.
 */
async function takeMembership(
  client: ElectionClient,
  schema: string,
  report: NodeReport,
  nodeTimeoutMs: number,
): Promise<void> {
  if (client.path !== "pooled" && (await shareSchema(client, schema, report.clustered))) return;
  const others = await client.query<{ node_id: string; hostname: string; pid: number }>(
    `select node_id, hostname, pid from ${schema}.nodes
     where incarnation <> $1 and node_id <> $2 and status <> 'left' and not (clustered and $3)
       and (${schema}.session_alive(lock_session) or last_heartbeat > clock_timestamp() - $4 * interval '1 millisecond')
     order by last_heartbeat desc limit 1`,
    [report.incarnation, report.nodeId, report.clustered, nodeTimeoutMs],
  );
  if (others.length === 0) {
    if (client.path === "pooled") return;
    // A session of this very node, or of its dead predecessor, still lingers at the server.
    throw new HoldfastError(
      "DATABASE_AWAY",
      "The schema is still held by a session that is about to end; trying again.",
    );
  }
  const other = others[0];
  const who = `node "${other?.node_id}" (pid ${other?.pid} on ${other?.hostname})`;
  throw new HoldfastError(
    "SCHEMA_IN_USE",
    report.clustered
      ? `This schema is in use by ${who}, which runs outside a cluster: stop it, or set cluster.enabled = true there.`
      : `This schema is in use by ${who}: set cluster.enabled = true on every node to share it, or choose another store.schema.`,
    { details: { nodeId: other?.node_id ?? null } },
  );
}

async function shareSchema(client: ElectionClient, schema: string, clustered: boolean): Promise<boolean> {
  const take = clustered ? "pg_try_advisory_lock_shared" : "pg_try_advisory_lock";
  const rows = await client.query<{ taken: boolean }>(`select ${take}(member_key) as taken from ${schema}.meta`);
  return rows[0]?.taken === true;
}

class PostgresLockSession implements LockSession {
  readonly ref;
  readonly path;
  readonly identity: DatabaseIdentity | null;
  private readonly client: ElectionClient;
  private readonly schema: string;
  private readonly registry: PostgresRegistry;
  private readonly nodeTimeoutMs: number;

  constructor(
    client: ElectionClient,
    registry: PostgresRegistry,
    found: { readonly schema: string; readonly identity: DatabaseIdentity | null; readonly nodeTimeoutMs: number },
  ) {
    this.ref = client.ref;
    this.path = client.path;
    this.client = client;
    this.registry = registry;
    this.schema = found.schema;
    this.identity = found.identity;
    this.nodeTimeoutMs = Math.ceil(found.nodeTimeoutMs);
  }

  async beat(orders: readonly BeatOrder[], sessions: NodeSessions): Promise<BeatReply> {
    const { nodeId, incarnation, status } = this.registry.current();
    const sorted = orders
      .map((order) => ({ ...order, renew: order.renew === null ? null : order.renew.toString() }))
      .sort((a, b) => (a.role < b.role ? -1 : 1));
    const wishes = JSON.stringify(sorted);
    const load = JSON.stringify(toLoadJson(this.registry.load()));
    let reply: BeatJson;
    try {
      const rows = await this.client.query<{ reply: BeatJson }>(
        `select ${this.schema}.beat($1, $2, $3, $4, $5, $6, $7, $8) as reply`,
        [nodeId, incarnation, status, sessions.lock, sessions.witness, wishes, load, this.nodeTimeoutMs],
      );
      ({ reply } = rows[0] as { reply: BeatJson });
      if (!reply.known) await this.registry.rejoin(this.client);
    } catch (error) {
      throw toHoldfastError(error, "beating");
    }
    const read = readBeat(reply);
    // After this: what a listener does wrong must not make a beat fail that the database has answered.
    queueMicrotask(() => this.registry.tell(readNews(reply, read.leases)));
    return read;
  }

  async pulse(): Promise<void> {
    await this.client.query("select 1");
  }

  async release(order: ReleaseOrder): Promise<void> {
    const { incarnation } = this.registry.current();
    try {
      const { role, epoch, to, reserveMs, reason, dropLock } = order;
      const values = [role, incarnation, epoch.toString(), to, Math.ceil(reserveMs), reason, dropLock];
      await this.client.query(`call ${this.schema}.give_up($1, $2, $3, $4, $5, $6, $7)`, values);
    } catch (error) {
      throw toHoldfastError(error, "releasing a lease");
    }
  }

  close(): void {
    this.client.close();
  }
}
