import type pg from "pg";
import type { RoleOrder } from "../contract.js";

/**
 * Makes a role's row exist. One that was lost while the history still tells of it is made again above every epoch that it
 * has given (G2), and free only after a TTL: whoever led by the old row may trust it for that long (G3). All in one
 * transaction, since nobody may lead by the new row before that.
 */
export async function ensureLeaseRow(
  client: pg.ClientBase,
  quotedSchema: string,
  { role, lockKey }: RoleOrder,
  ttlMs: number,
): Promise<void> {
  await client.query("begin isolation level read committed");
  await client.query(`select ${quotedSchema}.ensure_role($1, $2)`, [role, lockKey?.toString() ?? null]);
  const { rows } = await client.query<{ next: string }>(
    `update ${quotedSchema}.leases l set ttl_ms = $2
     from (select epoch from ${quotedSchema}.history where role = $1 order by id desc limit 1) h
     where l.role = $1 and l.epoch < h.epoch
     returning (h.epoch + 1)::text as next`,
    [role, Math.ceil(ttlMs)],
  );
  for (const { next } of rows) await client.query(`select ${quotedSchema}.advance_epoch($1, $2)`, [role, next]);
  await client.query("commit");
}
