import { Client } from "pg";
import { expect, test } from "vitest";
import { clusterNode, expectNoOverlap, heirOf, quick } from "../support/election.js";
import { NodeProcess } from "../support/node-process.js";
import { createTestDatabase, startTestServer, withClient } from "../support/postgres.js";

const obstacles: readonly { what: string; sql: string }[] = [
  { what: "the lease row", sql: "SELECT FROM holdfast.leases WHERE role = 'scheduler' FOR UPDATE" },
  {
    what: "the fence",
    sql: "SELECT pg_advisory_xact_lock_shared(fence_key) FROM holdfast.leases WHERE role = 'scheduler'",
  },
];
for (const { what, sql } of obstacles) {
  test.concurrent(`a session that sits on ${what} is ended once the lease has run out, and the takeover goes on`, async () => {
    await using database = await createTestDatabase();
    await using first = await NodeProcess.start({ settings: clusterNode(database.url, "first", quick) });
    const { epoch = 0n } = await first.said("elected");
    await using second = await NodeProcess.start({ settings: clusterNode(database.url, "second", quick) });
    await heirOf(database.url);
    const sitter = new Client({ connectionString: database.url });
    const ended = new Promise((resolve) => {
      sitter.once("error", resolve);
    });
    sitter.on("error", () => undefined);
    await sitter.connect();
    await sitter.query("BEGIN");
    await sitter.query(sql);
    first.kill("SIGKILL");
    expect(await second.said("elected")).toMatchObject({ epoch: epoch + 1n });
    expect(await ended).toMatchObject({ code: "57P01" });
    const { line } = await second.logged("sessions stood in the way of a takeover");
    expect(line).toMatchObject({ role: "scheduler", ended: 1 });
    await expectNoOverlap(first, second);
  });
}

test.concurrent("a prepared transaction in the way is reported and left to the operator", async () => {
  await using server = await startTestServer({ max_prepared_transactions: "2" });
  await using first = await NodeProcess.start({ settings: clusterNode(server.url, "first", quick) });
  const { epoch = 0n } = await first.said("elected");
  await using second = await NodeProcess.start({ settings: clusterNode(server.url, "second", quick) });
  await heirOf(server.url);
  await withClient(server.url, async (client) => {
    await client.query("CREATE TABLE written (line text)");
    await client.query("BEGIN");
    await client.query("INSERT INTO written VALUES ('prepared')");
    await client.query("SELECT holdfast.assert_epoch('scheduler', $1)", [epoch]);
    await client.query("PREPARE TRANSACTION 'forgotten'");
  });
  first.kill("SIGKILL");
  const { line } = await second.said("log", (report) => report.line?.["prepared"] === 1);
  expect(line).toMatchObject({ msg: "sessions stood in the way of a takeover", ended: 0 });
  expect(second.reports.filter(({ kind }) => kind === "elected")).toEqual([]);
  await withClient(server.url, async (client) => {
    await client.query("COMMIT PREPARED 'forgotten'");
    expect(await second.said("elected")).toMatchObject({ epoch: epoch + 1n });
    expect((await client.query("SELECT line FROM written")).rows).toEqual([{ line: "prepared" }]);
  });
  await expectNoOverlap(first, second);
});
