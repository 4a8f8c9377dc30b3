import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import { expect, test } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { migrate, readMigrations } from "../../src/store/postgres/migrations.js";
import { clusterNode, crashReason, expectNoOverlap, heirOf, quick } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { NodeProcess } from "../support/node-process.js";
import { createTestDatabase, startTestServer, type TestServer, withClient } from "../support/postgres.js";
import { startReplica } from "../support/replica.js";

test.concurrent("a node that starts while the database is away joins when it comes back", async () => {
  await using server = await startTestServer();
  await server.stop();
  await using node = await NodeProcess.spawn({ settings: clusterNode(server.url, "early", quick) });
  await server.start();
  await node.said("started");
  expect(await node.said("elected")).toMatchObject({ epoch: 1n });
});

test.concurrent("a database that stays away is a clear error, without the password in it", async () => {
  await using server = await startTestServer();
  await server.stop();
  const error = await startLocalNode(clusterNode(server.url, "early")).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "DATABASE_AWAY", message: expect.stringContaining("ECONNREFUSED") });
  expect((error as Error).message).not.toContain(new URL(server.url).password);
});

test.concurrent("a replica is refused as read-only, with the way out", async () => {
  await using primary = await startTestServer();
  await using replica = await startReplica(primary);
  await expect(startLocalNode(clusterNode(replica.url, "lost"))).rejects.toMatchObject({
    code: "DATABASE_READ_ONLY",
    message: expect.stringContaining("Point store.url at the primary"),
  });
});

/** How many connections the server has turned away. */
async function refusals(server: TestServer): Promise<number> {
  const log = await readFile(join(server.dataDir, "postgres.log"), "utf8");
  return log.split("too many clients already").length - 1;
}

/** Opens connections until the server has none left. */
async function exhaust(url: string): Promise<readonly Client[]> {
  const hoarded: Client[] = [];
  for (;;) {
    const client = new Client({ connectionString: url });
    client.on("error", () => undefined);
    try {
      await client.connect();
    } catch (error) {
      expect(error).toMatchObject({ code: "53300" });
      return hoarded;
    }
    hoarded.push(client);
  }
}

test.concurrent("with no connection left the heir of a killed leader still takes over, and a new node joins when there is room", async () => {
  await using server = await startTestServer({ max_connections: "20" });
  await using first = await NodeProcess.start({ settings: clusterNode(server.url, "first") });
  const { epoch = 0n } = await first.said("elected");
  await using second = await NodeProcess.start({ settings: clusterNode(server.url, "second") });
  expect(await heirOf(server.url)).toBe("second");
  const hoarded = [...(await exhaust(server.url))];
  first.kill("SIGKILL");
  expect(await second.said("elected")).toMatchObject({ epoch: epoch + 1n, reason: crashReason() });
  hoarded.push(...(await exhaust(server.url)));
  const refusedBefore = await refusals(server);
  await using late = await NodeProcess.spawn({ settings: clusterNode(server.url, "late") });
  expect(await waitUntil(async () => (await refusals(server)) > refusedBefore, 10_000)).toBe(true);
  await Promise.all(hoarded.map((client) => client.end()));
  await late.said("started");
  await late.said("changed", ({ leaderId }) => leaderId === "second");
  await expectNoOverlap(first, second);
});

test.concurrent("a server that stays full is a clear error", async () => {
  await using server = await startTestServer({ max_connections: "10" });
  await withClient(server.url, async (client) => migrate(client, "holdfast", await readMigrations()));
  const hoarded = await exhaust(server.url);
  await expect(startLocalNode(clusterNode(server.url, "node"))).rejects.toMatchObject({
    code: "DATABASE_AWAY",
    message: expect.stringContaining("too many clients"),
  });
  await Promise.all(hoarded.map((client) => client.end()));
});

test.concurrent("garbage and forgery on the notification channel change nothing", async () => {
  await using database = await createTestDatabase();
  await using first = await NodeProcess.start({ settings: clusterNode(database.url, "first", quick) });
  const { epoch = 0n } = await first.said("elected");
  await using second = await NodeProcess.start({ settings: clusterNode(database.url, "second", quick) });
  await heirOf(database.url);
  const forged = { role: "scheduler", kind: "released", epoch: `${epoch}`, to: "second" };
  const payloads = [
    "",
    "not json",
    "null",
    "[]",
    "7",
    '{"role": 5, "kind": "elected", "epoch": "1"}',
    '{"role": "scheduler", "kind": "elected", "epoch": "1.5"}',
    '{"role": "scheduler", "kind": "elected", "epoch": {}}',
    '{"role": "scheduler", "kind": "elected", "epoch": "999999999999999999999999"}',
    '{"role": "nobody", "kind": "elected", "epoch": "7"}',
    '{"role": "scheduler", "kind": "crowned", "epoch": "7"}',
    "x".repeat(7_900),
    JSON.stringify(forged),
    JSON.stringify({ ...forged, to: null }),
    JSON.stringify({ ...forged, to: { toString: null } }),
    JSON.stringify({ ...forged, role: "__proto__" }),
  ];
  await withClient(database.url, async (client) => {
    for (const payload of payloads) {
      await client.query("SELECT pg_notify(channel, $1) FROM holdfast.meta", [payload]);
    }
  });
  // A real handover after them: both nodes live, and nothing had been believed.
  expect(await heirOf(database.url, "scheduler", { fresh: true })).toBe("second");
  expect(await first.ask("gate")).toEqual({ open: true });
  expect(second.reports.filter(({ kind }) => kind === "elected")).toEqual([]);
  await first.ask("stepDown");
  expect(await second.said("elected")).toMatchObject({ epoch: epoch + 1n });
  await expectNoOverlap(first, second);
});
