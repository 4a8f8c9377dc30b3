import { expect, test } from "vitest";
import { clusterNode, crashReason, expectNoOverlap, heirOf, leaseOf } from "../support/election.js";
import { NodeProcess } from "../support/node-process.js";
import { createTestDatabase, startTestServer, withClient } from "../support/postgres.js";
import { postgresMajor } from "../support/postgres-version.js";

/** Whatever a database may set that would bend an election, if its sessions did not set it themselves. */
const bent: Readonly<Record<string, string>> = {
  synchronous_commit: "off",
  default_transaction_read_only: "on",
  default_transaction_deferrable: "on",
  statement_timeout: "200ms",
  ...(postgresMajor() >= 17 && { transaction_timeout: "200ms" }),
  lock_timeout: "1ms",
  idle_in_transaction_session_timeout: "1ms",
  idle_session_timeout: "300ms",
  search_path: "nowhere",
};

/** The test's own look at the database must not be bent. */
function straight(url: string): string {
  const changed = new URL(url);
  const names = Object.keys(bent).filter((name) => name.endsWith("_timeout"));
  changed.searchParams.set("options", names.map((name) => `-c ${name}=0`).join(" "));
  return changed.href;
}

for (const isolation of ["serializable", "repeatable read"]) {
  test.concurrent(`elections work in a database that is ${isolation}, read-only, asynchronous and impatient by default`, async () => {
    await using database = await createTestDatabase();
    await using first = await NodeProcess.start({ settings: clusterNode(database.url, "first") });
    const { epoch = 0n } = await first.said("elected");
    await using second = await NodeProcess.start({ settings: clusterNode(database.url, "second") });
    expect(await heirOf(database.url)).toBe("second");
    const before = await leaseOf(database.url);
    await withClient(database.url, async (client) => {
      for (const [name, value] of Object.entries({ ...bent, default_transaction_isolation: isolation })) {
        await client.query(`ALTER DATABASE ${database.name} SET ${name} = '${value}'`);
      }
      // All sessions of both nodes come back under these settings.
      await client.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'holdfast %' AND datname = current_database()",
      );
    });
    const url = straight(database.url);
    const shut = await first.said("gate", ({ open }) => open === false);
    await first.said("gate", ({ open, at }) => open === true && at > shut.at);
    expect(await heirOf(url, "scheduler", { fresh: true })).toBe("second");
    const after = await leaseOf(url);
    expect(after).toMatchObject({ holder: "first", epoch });
    expect(after.lockSession).not.toBe(before.lockSession);
    first.kill("SIGKILL");
    expect(await second.said("elected")).toMatchObject({ epoch: epoch + 1n, reason: crashReason() });
    await expectNoOverlap(first, second);
  });
}

test.concurrent("no epoch is given twice by a server that commits asynchronously and crashes right after each election", async () => {
  // The log reaches the disk by itself only after 10 s, so a commit that does not wait for it is lost.
  await using server = await startTestServer({ synchronous_commit: "off", wal_writer_delay: "10s" });
  const timing = {
    heartbeatSeconds: 0.2,
    leaderFenceTimeoutSeconds: 0.8,
    leaderLeaseTtlSeconds: 1,
    nodeTimeoutSeconds: 1,
  };
  await using node = await NodeProcess.start({ settings: clusterNode(server.url, "node", timing) });
  let known = 0n;
  for (let round = 0; round < 3; round += 1) {
    const { epoch = 0n } = await node.said("elected", (report) => (report.epoch ?? 0n) > known);
    await server.crash();
    await node.said("lost", (report) => report.epoch === epoch);
    await server.start();
    known = epoch;
  }
  await node.said("elected", (report) => (report.epoch ?? 0n) > known);
  const epochs = node.reports.filter(({ kind }) => kind === "elected").map(({ epoch }) => epoch);
  expect(new Set(epochs).size).toBe(epochs.length);
  expect((await leaseOf(server.url)).epoch).toBe(epochs.at(-1));
});
