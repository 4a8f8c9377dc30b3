import { expect, test } from "vitest";
import { clusterNode, expectNoOverlap, heirOf, historyOf, leaseOf, quick, quickTtlMs } from "../support/election.js";
import { NodeProcess } from "../support/node-process.js";
import { createTestDatabase, withClient } from "../support/postgres.js";

const start = (url: string, nodeId: string) => NodeProcess.start({ settings: clusterNode(url, nodeId, quick) });

/** Returns the moment before, in milliseconds of the database's clock. */
async function loseRow(url: string): Promise<number> {
  return await withClient(url, async (client) => {
    const { rows } = await client.query<{ now: number }>(
      "SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now",
    );
    await client.query("DELETE FROM holdfast.leases WHERE role = 'scheduler'");
    return rows[0]?.now ?? Number.NaN;
  });
}

const assertEpoch = (url: string, epoch: bigint) =>
  withClient(url, (client) => client.query("SELECT holdfast.assert_epoch('scheduler', $1)", [epoch]));

/** The epochs that were given, oldest first. */
async function epochsGiven(url: string): Promise<readonly bigint[]> {
  const history = await historyOf(url);
  return history.filter(({ event }) => event === "elected").map(({ epoch }) => epoch);
}

test.concurrent("a lease row that is lost is made again, and the role has a leader again, under an epoch that was never given before", async () => {
  await using database = await createTestDatabase();
  await using first = await start(database.url, "first");
  await first.said("elected");
  await using second = await start(database.url, "second");
  await heirOf(database.url);
  await first.ask("stepDown");
  const { epoch = 0n } = await second.said("elected");
  expect(epoch).toBe(2n);
  await heirOf(database.url);

  await loseRow(database.url);
  await expect(assertEpoch(database.url, epoch)).rejects.toMatchObject({ code: "HF003" });
  expect(await second.said("lost")).toMatchObject({ epoch, reason: "trust_ran_out" });
  const isNew = (report: { readonly epoch?: bigint }) => (report.epoch ?? 0n) > epoch;
  const elected = await Promise.race([first.said("elected", isNew), second.said("elected", isNew)]);

  // Everybody hears of the new leader, and no token of before the loss is good again.
  const { leaderId } = elected;
  for (const node of [first, second]) {
    await node.said("changed", (report) => isNew(report) && report.leaderId === leaderId);
    expect(await node.ask("leader")).toEqual({ leader: leaderId });
  }
  expect(await leaseOf(database.url)).toMatchObject({ holder: leaderId, epoch: elected.epoch });
  for (const given of [1n, epoch]) {
    await expect(assertEpoch(database.url, given)).rejects.toMatchObject({ code: "HF001" });
  }
  expect(await epochsGiven(database.url)).toEqual([1n, 2n, elected.epoch]);
  await expectNoOverlap(first, second);
});

test.concurrent("a lease row that a newcomer makes again gives it nothing while the old leader may still trust", async () => {
  await using database = await createTestDatabase();
  await using first = await start(database.url, "first");
  const { epoch = 0n } = await first.said("elected");
  await first.said("gate", ({ open }) => open === true);
  await using newcomer = await NodeProcess.start({ settings: clusterNode(database.url, "newcomer", quick), roles: [] });
  const lostAt = await loseRow(database.url);
  await newcomer.ask("contend", { name: "scheduler", work: "idle" });
  // What the old leader finds is not its row, and it knows before anybody else may lead.
  expect(await first.said("lost")).toMatchObject({ epoch });
  const isNew = (report: { readonly epoch?: bigint }) => (report.epoch ?? 0n) > epoch;
  await Promise.race([first.said("elected", isNew), newcomer.said("elected", isNew)]);
  const history = await historyOf(database.url);
  expect(history.map(({ event }) => event)).toEqual(["elected", "advanced", "elected"]);
  expect(history.at(-1)?.at).toBeGreaterThanOrEqual(lostAt + quickTtlMs);
  await expectNoOverlap(first, newcomer);
});
