import type { Client } from "pg";
import { withClient } from "./postgres.js";

const request = {
  node_id: "another",
  incarnation: "another",
  url: null,
  on_stall: "depose",
  takeover: "evidence",
  evidence_grace_ms: 0,
  acquire_delay_ms: 0,
  lock_session: null,
  witness_session: null,
};

/** Makes the role's row exist, as the first node that contends for it would. */
export async function ensureRole(url: string, role: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query("SELECT holdfast.claim_schema('default'), holdfast.ensure_role($1, NULL)", [role]);
  });
}

/** A takeover by the SQL that every node uses, after the lease has run out. Returns the new epoch. */
export async function takeOver(
  client: Client,
  role = "scheduler",
  { ttlMs = 60_000, lockTimeoutMs = 10_000 } = {},
): Promise<bigint> {
  const wishes = { ...request, ttl_ms: ttlMs, lock_timeout_ms: lockTimeoutMs };
  await client.query("UPDATE holdfast.leases SET expires_at = clock_timestamp() WHERE role = $1", [role]);
  const { rows } = await client.query("SELECT holdfast.acquire($1, $2, NULL) AS reply", [role, JSON.stringify(wishes)]);
  if (rows[0]?.reply.kind !== "acquired") throw new Error(`No takeover: ${JSON.stringify(rows[0])}`);
  return BigInt(rows[0].reply.view.epoch);
}
