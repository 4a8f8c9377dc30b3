import { expect, test } from "vitest";
import { clusterNode, crashReason, heirOf, historyOf, quick } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { createLogin, migratedBy } from "../support/login-role.js";
import { NodeProcess } from "../support/node-process.js";
import { type TestDatabase, withClient } from "../support/postgres.js";

const administer = (database: TestDatabase, sql: string) => withClient(database.url, (client) => client.query(sql));

test("two nodes that own nothing elect, fence, hand over, survive a crash and drain", { timeout: 60_000 }, async () => {
  await using migrator = await createLogin("migrator");
  await using role = await createLogin("node");
  await using reader = await createLogin("reader");
  await using database = await migratedBy(migrator, role, reader);
  await administer(database, "CREATE TABLE written (line text)");
  await administer(database, "GRANT INSERT, SELECT ON written TO public");
  const settings = (nodeId: string) => clusterNode(role.at(database.url), nodeId, {}, { migrate: "check" });
  await using first = await NodeProcess.start({ settings: settings("first") });
  const { epoch = 0n } = await first.said("elected");
  await administer(database, "SELECT holdfast.protect('written', 'scheduler')");
  await first.ask("query", { sql: "INSERT INTO written VALUES ('first')" });
  await using second = await NodeProcess.start({ settings: settings("second") });
  expect(await heirOf(database.url)).toBe("second");

  await first.ask("stepDown", { to: "second" });
  expect(await second.said("elected")).toMatchObject({ epoch: epoch + 1n, reason: "handover" });
  await second.ask("query", { sql: "INSERT INTO written VALUES ('second')" });

  expect(await heirOf(database.url, "scheduler", { fresh: true })).toBe("first");
  second.kill("SIGKILL");
  expect(await first.said("elected", (report) => report.epoch === epoch + 2n)).toMatchObject({ reason: crashReason() });

  const writing = first.ask("openWrite", { sql: "INSERT INTO written VALUES ('stale')" });
  const refused = expect(writing).rejects.toMatchObject({ code: "STALE_EPOCH" });
  await first.said("written");
  await withClient(role.at(database.url), (client) => client.query("SELECT holdfast.advance_epoch('scheduler', 0)"));
  await first.ask("finishWrite");
  await refused;

  await first.said("elected", (report) => report.epoch === epoch + 4n);
  await first.ask("drain");
  expect((await historyOf(database.url)).at(-1)).toMatchObject({ event: "released", nodeId: "first" });
  await first.ask("close");
  const { rows } = await administer(database, "SELECT line FROM written ORDER BY line");
  expect(rows).toEqual([{ line: "first" }, { line: "second" }]);
});

test("a node that owns nothing ends the sessions of one that is frozen", async () => {
  await using migrator = await createLogin("migrator");
  await using role = await createLogin("node");
  await using reader = await createLogin("reader");
  await using database = await migratedBy(migrator, role, reader);
  const settings = (nodeId: string) => clusterNode(role.at(database.url), nodeId, quick);
  await using first = await NodeProcess.start({ settings: settings("first") });
  const { epoch = 0n } = await first.said("elected");
  await using second = await NodeProcess.start({ settings: settings("second") });
  expect(await heirOf(database.url)).toBe("second");
  first.kill("SIGSTOP");
  expect(await second.said("elected")).toMatchObject({ epoch: epoch + 1n, reason: "expired" });
  await second.logged("ended the sessions of frozen nodes");
});

test("nodes that own nothing keep tokens and the audit, ask each other, and tidy up", async () => {
  await using migrator = await createLogin("migrator");
  await using role = await createLogin("node");
  await using reader = await createLogin("reader");
  await using database = await migratedBy(migrator, role, reader);
  await using first = await startLocalNode(clusterNode(role.at(database.url), "first"));
  await using second = await startLocalNode(clusterNode(role.at(database.url), "second"));
  await second.leads();
  const { access, cluster } = first.node;
  const { token } = await access.create({ name: "ci", role: "viewer", grants: [], lifetimeMs: null }, "alice");
  expect(await access.revoke(token.id)).toMatchObject({ name: "ci" });
  const line = await access.beginAudit({ actor: "alice", action: "look", target: null, address: null });
  await access.finishAudit(line, "done");
  expect(await access.audit({ limit: 1 })).toMatchObject([{ actor: "alice", nodeId: "first", outcome: "done" }]);
  const asked = await cluster.ask({ kind: "step_down", role: "scheduler", requestedBy: "alice", waitMs: 10_000 });
  expect(asked).toMatchObject({ nodeId: "second", outcome: { kind: "done" } });
  await administer(
    database,
    `UPDATE holdfast.requests SET requested_at = '-infinity'; UPDATE holdfast.history SET at = '2000-01-01';
     INSERT INTO holdfast.nodes (node_id, incarnation, clustered, status, hostname, pid, version, last_heartbeat)
     VALUES ('old', 'old', true, 'left', 'host', 1, '1', '2000-01-01')`,
  );
  const { rows } = await withClient(role.at(database.url), async (client) => {
    await client.query(
      "SELECT holdfast.save_snapshot('old', 'old', 'metrics'), holdfast.save_snapshot('old', 'old', 'more metrics')",
    );
    return await client.query("SELECT holdfast.tidy(5000, true, 86400000, 90, 30) AS report");
  });
  expect(rows).toEqual([{ report: { died: [], forgotten: ["old"] } }]);
});

test("a protected table is written by an application's role that has no right in the schema but its usage", async () => {
  await using migrator = await createLogin("migrator");
  await using role = await createLogin("node");
  await using reader = await createLogin("reader");
  await using application = await createLogin("application");
  await using database = await migratedBy(migrator, role, reader);
  await administer(database, `GRANT USAGE ON SCHEMA holdfast TO ${application.quoted}`);
  await administer(database, "CREATE TABLE written (line text)");
  await administer(database, "GRANT INSERT, SELECT ON written TO public");
  await using node = await startLocalNode(clusterNode(role.at(database.url), "node"));
  const { epoch } = await node.leads();
  await administer(database, "SELECT holdfast.protect('written', 'scheduler')");
  await withClient(application.at(database.url), async (client) => {
    await expect(client.query("INSERT INTO written VALUES ('unstated')")).rejects.toMatchObject({ code: "HF004" });
    await client.query("BEGIN");
    await client.query("SELECT holdfast.use_epoch('scheduler', $1)", [epoch]);
    await client.query("INSERT INTO written VALUES ('stated')");
    await client.query("COMMIT");
    await client.query("BEGIN");
    await client.query("SELECT holdfast.use_epoch('scheduler', $1)", [epoch - 1n]);
    await client.query("INSERT INTO written VALUES ('stale')");
    await expect(client.query("COMMIT")).rejects.toMatchObject({ code: "HF001" });
    await client.query("ROLLBACK");
  });
});

test('a node that owns nothing starts with migrate = "auto" too, and is told who migrates when there is something to do', async () => {
  await using migrator = await createLogin("migrator");
  await using role = await createLogin("node");
  await using reader = await createLogin("reader");
  await using database = await migratedBy(migrator, role, reader);
  const settings = clusterNode(role.at(database.url), "node", {}, { migrate: "auto" });
  {
    await using node = await startLocalNode(settings);
    await node.leads();
  }
  await administer(
    database,
    "DELETE FROM holdfast.migrations WHERE version = (SELECT max(version) FROM holdfast.migrations)",
  );
  await expect(startLocalNode(settings)).rejects.toMatchObject({
    code: "DATABASE_REFUSED",
    message: expect.stringContaining('run "holdfast migrate" as the role that owns it'),
  });
});
