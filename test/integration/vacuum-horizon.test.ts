import type { Client } from "pg";
import { expect, test } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { clusterNode, heirOf } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { givesEvidence } from "../support/postgres-version.js";

const watchedMs = process.env["HOLDFAST_LONG"] === "1" ? 60_000 : 10_000;

/** How old the oldest transaction or snapshot of a Holdfast session is, in milliseconds. */
async function oldestMs(client: Client): Promise<number> {
  const { rows } = await client.query<{ age: number | null }>(
    `SELECT max(extract(epoch FROM clock_timestamp() - xact_start))::float8 * 1000 AS age FROM pg_stat_activity
     WHERE application_name LIKE 'holdfast %' AND datname = current_database() AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)`,
  );
  return rows[0]?.age ?? 0;
}

test(`while an heir waits, Holdfast holds no snapshot older than 2 s, and a busy table is vacuumed`, {
  timeout: watchedMs + 30_000,
}, async () => {
  await using database = await createTestDatabase();
  await using leader = await startLocalNode(clusterNode(database.url, "leader"));
  await leader.leads();
  await using heir = await startLocalNode(clusterNode(database.url, "heir"));
  heir.node.role("scheduler");
  await heirOf(database.url);
  await withClient(database.url, async (client) => {
    await client.query("CREATE TABLE busy WITH (autovacuum_enabled = off) AS SELECT n FROM generate_series(1, 100) n");
    const since = performance.now();
    let oldest = 0;
    let waits = 0;
    let updated = 0;
    await waitUntil(async () => {
      updated += (await client.query("UPDATE busy SET n = n + 1")).rowCount ?? 0;
      const age = await oldestMs(client);
      if (age > 0) waits += 1;
      oldest = Math.max(oldest, age);
      return performance.now() - since > watchedMs;
    }, watchedMs + 20_000);
    // Where there is no evidence to be had, an heir does not wait, and only a beat that is just under way holds a snapshot.
    if (givesEvidence()) expect(waits).toBeGreaterThan(0);
    expect(oldest).toBeLessThan(2_000);

    const said: string[] = [];
    client.on("notice", ({ message = "", detail = "" }) => said.push(message, detail));
    await client.query("VACUUM (VERBOSE) busy");
    // Most of them were pruned before; what stays is what the last slice of the heir still saw.
    const words = /(\d+) (?:are dead but not yet removable|dead row versions cannot be removed yet)/;
    const kept = words.exec(said.join("\n"))?.[1];
    expect(Number(kept)).toBeLessThan(updated / 3);
  });
});
