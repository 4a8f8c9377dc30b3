import { Pool, type PoolClient } from "pg";
import { expect, test } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { clusterNode, expectNoOverlap, heirOf, historyOf, quick } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { NodeProcess } from "../support/node-process.js";
import { createTestDatabase } from "../support/postgres.js";

for (const command of ["drain", "close"]) {
  test.concurrent(`a listener of "draining" that throws stops no ${command}: work is waited for, and the role goes over in order`, async () => {
    await using database = await createTestDatabase();
    await using first = await NodeProcess.start({ settings: clusterNode(database.url, "first", quick) });
    const { epoch = 0n } = await first.said("elected");
    await using second = await NodeProcess.start({ settings: clusterNode(database.url, "second", quick) });
    expect(await heirOf(database.url)).toBe("second");
    await first.ask("throwWhenDraining");
    await first.ask("enterWork");

    const ended = first.ask(command);
    expect(await first.said("uncaught")).toMatchObject({ message: "the listener failed" });
    // The work is still under way, so nothing has been given up; a look at the row by the heir later, neither.
    expect(await heirOf(database.url, "scheduler", { fresh: true })).toBe("second");
    // No new work begins; what has begun may still act.
    expect(await first.ask("gate")).toEqual({ open: false });
    await first.ask("ensureEpoch", { epoch: String(epoch) });
    expect(second.reports.filter(({ kind }) => kind === "elected")).toEqual([]);

    await first.ask("leaveWork");
    await ended;
    expect(await first.ask("gate")).toEqual({ open: false });
    expect(await first.said("lost")).toMatchObject({ epoch, reason: "draining" });
    expect(await second.said("elected")).toMatchObject({ epoch: epoch + 1n, reason: "released" });
    await second.said("gate", ({ open }) => open === true);
    expect((await historyOf(database.url)).map(({ event, reason }) => [event, reason])).toEqual([
      ["elected", "first"],
      ["released", "draining"],
      ["elected", "released"],
    ]);
    await expectNoOverlap(first, second);
  });
}

/** Longer than a question to the database may take, with room for a busy machine. */
const boundMs = 20_000;

test.concurrent("a node closes in bounded time though its user's pool is busy to the last connection, and its role goes over at once", async () => {
  await using database = await createTestDatabase();
  const pool = new Pool({ connectionString: database.url, max: 2 });
  await using first = await startLocalNode(clusterNode(database.url, "first", quick, { pool }));
  const { epoch } = await first.leads();
  await using second = await startLocalNode(clusterNode(database.url, "second", quick));
  const elected = second.leads();
  expect(await heirOf(database.url)).toBe("second");
  const busy: readonly PoolClient[] = await Promise.all([pool.connect(), pool.connect()]);

  let closed = false;
  const closing = first.node.close().then(() => {
    closed = true;
  });
  expect((await elected).epoch).toBe(epoch + 1n);
  expect(closed).toBe(false);
  expect(await waitUntil(() => closed, boundMs)).toBe(true);
  await closing;
  expect(first.node.role("scheduler").gate.isLeader).toBe(false);
  expect(first.log.map(({ msg }) => msg)).toContain("could not say goodbye to the database");

  // The pool is its user's, and keeps nothing of the node: what it still waited for comes late and is given back.
  for (const client of busy) client.release();
  expect(await waitUntil(() => pool.waitingCount === 0 && pool.idleCount === pool.totalCount, boundMs)).toBe(true);
  expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  await pool.end();
});
