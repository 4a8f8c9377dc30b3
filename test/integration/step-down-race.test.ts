import { once } from "node:events";
import { Pool } from "pg";
import { expect, test } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { clusterNode, heirOf, historyOf, leaseOf, quick } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { createTestDatabase, withClient } from "../support/postgres.js";

const advance = "SELECT holdfast.advance_epoch('scheduler', 7)";

async function advanceEpoch(url: string): Promise<void> {
  await withClient(url, (client) => client.query(advance));
}

test.concurrent("a step-down whose epoch is advanced while work is still draining resolves, for everybody who asked", async () => {
  await using database = await createTestDatabase();
  await using leader = await startLocalNode(clusterNode(database.url, "leader", quick));
  const role = leader.node.role("scheduler");
  let finish = (): void => undefined;
  const working = new Promise<void>((resolve) => {
    role.lead((term) => {
      resolve();
      if (term.epoch > 1n) return;
      // It goes on after its signal, until it is told to finish.
      return new Promise((done) => {
        finish = done;
      });
    });
  });
  await working;
  const lost = once(role, "lost");
  const asked = [role.stepDown(), role.stepDown()];
  await advanceEpoch(database.url);
  expect(await Promise.all(asked)).toEqual([undefined, undefined]);
  expect(await lost).toMatchObject([{ epoch: 1n, reason: "superseded" }]);
  finish();
});

test.concurrent("a step-down whose release meets an advanced epoch resolves, and leaves the new epoch alone", async () => {
  await using database = await createTestDatabase();
  await using leader = await startLocalNode(clusterNode(database.url, "leader"));
  await leader.leads();
  const steppedDown = await withClient(database.url, async (client) => {
    await client.query("BEGIN");
    await client.query(advance);
    const { processID } = client as unknown as { readonly processID: number };
    const asked = leader.node.role("scheduler").stepDown();
    const released = await withClient(database.url, (observer) =>
      waitUntil(async () => {
        const { rows } = await observer.query(
          "SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid)) AND query LIKE '%give_up%'",
          [processID],
        );
        return rows.length === 1;
      }, 5_000),
    );
    expect(released).toBe(true);
    await client.query("COMMIT");
    return asked;
  });
  expect(steppedDown).toBeUndefined();
  expect(leader.node.role("scheduler").gate.isLeader).toBe(false);
  expect(await leaseOf(database.url)).toMatchObject({ epoch: 7n, holder: null });
  expect((await historyOf(database.url)).map(({ event }) => event)).toEqual(["elected", "advanced"]);
});

test.concurrent("a step-down in favour of a node, whose term ends while that node is looked up, is refused", async () => {
  await using database = await createTestDatabase();
  const pool = new Pool({ connectionString: database.url, max: 1 });
  await using leader = await startLocalNode(clusterNode(database.url, "leader", quick, { pool }));
  await leader.leads();
  await using standby = await startLocalNode(clusterNode(database.url, "standby", quick));
  standby.node.role("scheduler");
  await heirOf(database.url);
  const role = leader.node.role("scheduler");
  const busy = await pool.connect();
  const lost = once(role, "lost");
  const asked = role.stepDown({ to: "standby" });
  const refused = expect(asked).rejects.toMatchObject({ code: "NOT_LEADER" });
  await advanceEpoch(database.url);
  await lost;
  busy.release();
  await refused;
  await leader.node.close();
  await pool.end();
});

test.concurrent("a step-down that is asked for by the very signal of the term's end resolves", async () => {
  await using database = await createTestDatabase();
  await using leader = await startLocalNode(clusterNode(database.url, "leader", quick));
  const role = leader.node.role("scheduler");
  const { signal } = await leader.leads();
  const asked = new Promise<Promise<void>[]>((resolve) => {
    signal.addEventListener("abort", () => resolve([role.stepDown()]));
  });
  await advanceEpoch(database.url);
  expect(await Promise.all(await asked)).toEqual([undefined]);
});
