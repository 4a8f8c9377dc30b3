import { expect } from "vitest";
import type { NodeOptions } from "../../src/node.js";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import type { NodeProcess } from "./node-process.js";
import { withClient } from "./postgres.js";
import { givesEvidence } from "./postgres-version.js";

type ClusterOptions = NonNullable<NodeOptions["cluster"]>;

/** Short enough to wait for a lease in a test, long enough for a busy machine. */
export const quick = {
  heartbeatSeconds: 0.25,
  leaderFenceTimeoutSeconds: 1.5,
  leaderLeaseTtlSeconds: 2,
  nodeTimeoutSeconds: 1.5,
} as const satisfies ClusterOptions;

/** Where a lease has to run out, and nobody may lose one before that: trust that outlasts a busy machine. */
export const trusted = {
  ...quick,
  leaderFenceTimeoutSeconds: 6,
  leaderLeaseTtlSeconds: 8,
  nodeTimeoutSeconds: 8,
} as const satisfies ClusterOptions;

/** Where nobody fails: a leader keeps its role also on a machine that is busy for seconds. */
export const calm = {
  heartbeatSeconds: 0.25,
  leaderFenceTimeoutSeconds: 20,
  leaderLeaseTtlSeconds: 30,
  nodeTimeoutSeconds: 20,
} as const satisfies ClusterOptions;

export const quickTtlMs = quick.leaderLeaseTtlSeconds * 1000;

/** Settings of one node of a cluster. */
export function clusterNode(
  url: string,
  nodeId: string,
  cluster: ClusterOptions = {},
  store: NonNullable<NodeOptions["store"]> = {},
): NodeOptions {
  return { store: { url, ...store }, cluster: { enabled: true, nodeId, ...cluster } };
}

export interface LeaseRow {
  readonly epoch: bigint;
  readonly holder: string | null;
  readonly expiresAt: number;
  readonly lockSession: string | null;
  readonly witnessSession: string | null;
  readonly reservedFor: string | null;
}

/** A role's row, times in milliseconds of the database's clock. */
export async function leaseOf(url: string, role = "scheduler"): Promise<LeaseRow> {
  return await withClient(url, async (client) => {
    const { rows } = await client.query(
      `SELECT epoch, holder, extract(epoch FROM expires_at)::float8 * 1000 AS expires_at, lock_session, witness_session, reserved_for
       FROM holdfast.leases WHERE role = $1`,
      [role],
    );
    const row = rows[0];
    return {
      epoch: BigInt(row.epoch),
      holder: row.holder,
      expiresAt: row.expires_at,
      lockSession: row.lock_session,
      witnessSession: row.witness_session,
      reservedFor: row.reserved_for,
    };
  });
}

export interface HistoryRow {
  readonly epoch: bigint;
  readonly event: string;
  readonly reason: string;
  readonly nodeId: string | null;
  readonly previousNodeId: string | null;
  /** Milliseconds of the database's clock. */
  readonly at: number;
  readonly gapMs: number | null;
}

/** A role's history, oldest first. */
export async function historyOf(url: string, role = "scheduler"): Promise<readonly HistoryRow[]> {
  return await withClient(url, async (client) => {
    const { rows } = await client.query(
      `SELECT epoch, event, reason, node_id, previous_node_id, gap_ms, extract(epoch FROM at)::float8 * 1000 AS at
       FROM holdfast.history WHERE role = $1 ORDER BY id`,
      [role],
    );
    return rows.map((row) => ({
      epoch: BigInt(row.epoch),
      event: row.event,
      reason: row.reason,
      nodeId: row.node_id,
      previousNodeId: row.previous_node_id,
      gapMs: row.gap_ms,
      at: row.at,
    }));
  });
}

/** Why the successor of a leader that was killed leads: where the server gives no evidence, the lease has run out first. */
export function crashReason(): "evidence" | "expired" {
  return givesEvidence() ? "evidence" : "expired";
}

/**
 * Waits until some node waits for the leader's lock as its heir, and says which. `fresh`: until it has looked at the row
 * again, which it does once a slice; what it saw of sessions that the leader has replaced since is no evidence. `schema`: where
 * the nodes keep their tables.
 */
export async function heirOf(
  url: string,
  role = "scheduler",
  { fresh = false, schema = "holdfast" } = {},
): Promise<string> {
  // Before PostgreSQL 15 an heir waits for nothing, and is known by the lock that makes it heir.
  const waits = givesEvidence();
  const key = waits ? "lock_key" : "heir_key";
  let heir = "";
  const found = await withClient(url, async (client) => {
    const { rows: clock } = await client.query<{ now: string }>("SELECT clock_timestamp()::text AS now");
    const since = fresh ? clock[0]?.now : "-infinity";
    return await waitUntil(async () => {
      const { rows } = await client.query<{ name: string }>(
        `SELECT regexp_replace(a.application_name, '^.* ', '') AS name
         FROM pg_locks l JOIN pg_stat_activity a USING (pid) JOIN ${schema}.leases r
           ON l.classid = ((r.${key} >> 32) & 4294967295)::oid AND l.objid = (r.${key} & 4294967295)::oid
         WHERE l.locktype = 'advisory' AND l.granted = ${!waits} AND a.datname = current_database() AND r.role = $1
           AND a.query_start > $2::timestamptz`,
        [role, since],
      );
      heir = rows[0]?.name ?? "";
      return heir !== "";
    }, 20_000);
  });
  if (!found) throw new Error(`Nobody became heir of ${role}`);
  return heir;
}

export async function expectNoOverlap(...nodes: readonly NodeProcess[]): Promise<void> {
  expect(await overlapsOf(...nodes)).toEqual([]);
}

/** G3, from the recorded acts: whoever acted under an epoch after another node had acted under a newer one. */
export async function overlapsOf(...nodes: readonly NodeProcess[]): Promise<readonly string[]> {
  const spans = new Map<string, { role: string; epoch: bigint; firstAfter: bigint; lastBefore: bigint }>();
  for (const node of nodes) {
    for (const { role, epoch, before, after } of await node.acts()) {
      const key = `${role} ${epoch}`;
      const span = spans.get(key);
      if (span === undefined) spans.set(key, { role, epoch, firstAfter: after, lastBefore: before });
      else {
        if (after < span.firstAfter) span.firstAfter = after;
        if (before > span.lastBefore) span.lastBefore = before;
      }
    }
  }
  const overlaps: string[] = [];
  for (const older of spans.values()) {
    for (const newer of spans.values()) {
      if (older.role !== newer.role || older.epoch >= newer.epoch || older.lastBefore <= newer.firstAfter) continue;
      const ms = Number(older.lastBefore - newer.firstAfter) / 1e6;
      overlaps.push(`epoch ${older.epoch} of ${older.role} acted ${ms} ms after epoch ${newer.epoch} had begun`);
    }
  }
  return overlaps;
}
