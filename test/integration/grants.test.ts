import { randomBytes } from "node:crypto";
import { expect, inject, test } from "vitest";
import { resolveConfig } from "../../src/config/config.js";
import { openMaintenance } from "../../src/maintenance.js";
import { nodeSequences, rightsOn } from "../../src/store/postgres/grants.js";
import { migrate, readMigrations } from "../../src/store/postgres/migrations.js";
import { clusterNode, heirOf, historyOf, quick } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { NodeProcess } from "../support/node-process.js";
import { createTestDatabase, type TestDatabase, withClient } from "../support/postgres.js";

interface LoginRole extends AsyncDisposable {
  readonly name: string;
  /** As it stands in a statement: its name would not pass unquoted. */
  readonly quoted: string;
  /** The database as this role sees it. */
  at(url: string): string;
}

/** Roles belong to the whole server. Declare them before the database, so that they are dropped after it. */
async function createLogin(purpose: string): Promise<LoginRole> {
  const name = `${purpose} "${randomBytes(4).toString("hex")}"`;
  const quoted = `"${name.replaceAll('"', '""')}"`;
  await withClient(inject("postgresUrl"), (client) => client.query(`CREATE ROLE ${quoted} LOGIN PASSWORD 'secret'`));
  return {
    name,
    quoted,
    at(url) {
      const changed = new URL(url);
      changed.username = encodeURIComponent(name);
      changed.password = "secret";
      return changed.href;
    },
    async [Symbol.asyncDispose]() {
      await withClient(inject("postgresUrl"), (client) => client.query(`DROP ROLE ${quoted}`));
    },
  };
}

const open = (url: string) => openMaintenance(resolveConfig({ store: { url } }, false));

const administer = (database: TestDatabase, sql: string) => withClient(database.url, (client) => client.query(sql));

/** An empty database, migrated by a role that may create a schema and nothing else, which then granted to the other two. */
async function migratedBy(migrator: LoginRole, node: LoginRole, reader: LoginRole): Promise<TestDatabase> {
  const database = await createTestDatabase({ template: "template1" });
  await administer(database, `GRANT CREATE ON DATABASE ${database.name} TO ${migrator.quoted}`);
  await using maintenance = await open(migrator.at(database.url));
  await maintenance.migrate();
  expect(await maintenance.grant(node.name)).toEqual({ role: node.name, kind: "node", advice: [] });
  expect(await maintenance.grant(reader.name, "reader")).toEqual({ role: reader.name, kind: "reader", advice: [] });
  return database;
}

async function refusals(url: string, statements: readonly string[]): Promise<readonly (string | undefined)[]> {
  return await withClient(url, async (client) => {
    const codes: (string | undefined)[] = [];
    for (const statement of statements) {
      codes.push(
        await client.query(statement).then(
          () => undefined,
          (error: unknown) => (error as { code: string }).code,
        ),
      );
    }
    return codes;
  });
}

const denied = "42501";

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
  expect(await first.said("elected", (report) => report.epoch === epoch + 2n)).toMatchObject({ reason: "evidence" });

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
  await access.record({ actor: "alice", action: "look", target: null, outcome: "done", address: null });
  expect(await access.audit({ limit: 1 })).toMatchObject([{ actor: "alice", nodeId: "first" }]);
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
      "SELECT holdfast.save_snapshot('old', 'metrics'), holdfast.save_snapshot('old', 'more metrics')",
    );
    return await client.query("SELECT holdfast.tidy(5000, true, 86400000, 90) AS report");
  });
  expect(rows).toEqual([{ report: { died: [], forgotten: ["old"] } }]);
});

test("a protected table is written by an application's role that has no right in the schema but its usage", async () => {
  await using migrator = await createLogin("migrator");
  await using role = await createLogin("node");
  await using application = await createLogin("application");
  await using database = await migratedBy(migrator, role, application);
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

test("a node's role changes no schema, empties no table, and reaches nothing that is not its business", async () => {
  await using migrator = await createLogin("migrator");
  await using role = await createLogin("node");
  await using reader = await createLogin("reader");
  await using database = await migratedBy(migrator, role, reader);
  const tables = Object.keys(rightsOn).filter((name) => !["leaders", "members"].includes(name));
  const statements = [
    ...tables.flatMap((name) => [
      `DROP TABLE holdfast.${name}`,
      `ALTER TABLE holdfast.${name} ADD COLUMN more text`,
      `TRUNCATE holdfast.${name}`,
    ]),
    "INSERT INTO holdfast.migrations VALUES (99, 'x', 99)",
    "UPDATE holdfast.migrations SET oldest_code = 99",
    "DELETE FROM holdfast.leases",
    "DELETE FROM holdfast.meta",
    "DELETE FROM holdfast.tokens",
    "DELETE FROM holdfast.audit",
    "UPDATE holdfast.audit SET actor = 'nobody'",
    "UPDATE holdfast.history SET reason = 'none'",
    "SELECT * FROM holdfast.grants",
    "SELECT * FROM holdfast.fenced_writes",
    "DELETE FROM holdfast.fenced_writes",
    "SELECT setval('holdfast.epoch_changes', 1)",
    "CREATE TABLE holdfast.mine (n int)",
    "CREATE OR REPLACE FUNCTION holdfast.assert_epoch(text, bigint) RETURNS void LANGUAGE sql AS ''",
    "DROP FUNCTION holdfast.assert_epoch(text, bigint)",
    "ALTER SCHEMA holdfast RENAME TO mine",
    "CREATE SCHEMA mine",
  ];
  expect(await refusals(role.at(database.url), statements)).toEqual(statements.map(() => denied));
});

test("a reader sees who leads, who is here and what happened, and neither writes nor sees a token", async () => {
  await using migrator = await createLogin("migrator");
  await using role = await createLogin("node");
  await using reader = await createLogin("reader");
  await using database = await migratedBy(migrator, role, reader);
  const url = reader.at(database.url);
  const readable = ["leaders", "members", "history", "migrations"];
  expect(
    await refusals(
      url,
      readable.map((name) => `SELECT * FROM holdfast.${name}`),
    ),
  ).toEqual(readable.map(() => undefined));
  const statements = [
    ...Object.keys(rightsOn).flatMap((name) => [
      ...(readable.includes(name) ? [] : [`SELECT * FROM holdfast.${name}`]),
      `DELETE FROM holdfast.${name}`,
    ]),
    "SELECT hash FROM holdfast.tokens",
    "INSERT INTO holdfast.history (role, epoch, event, reason) VALUES ('scheduler', 1, 'elected', 'x')",
    "SELECT holdfast.claim_schema('mine')",
    "SELECT holdfast.ensure_role('mine', NULL)",
    "SELECT holdfast.create_token('mine', 'admin', '{}', repeat('0', 64), NULL, 'me')",
    "SELECT holdfast.advance_epoch('scheduler', 9)",
    "CREATE TABLE holdfast.mine (n int)",
  ];
  expect(await refusals(url, statements)).toEqual(statements.map(() => denied));
});

test("whoever was granted nothing can do nothing", async () => {
  await using stranger = await createLogin("stranger");
  await using database = await createTestDatabase();
  const statements = [
    "SELECT * FROM holdfast.leaders",
    "SELECT holdfast.identity()",
    "SELECT holdfast.assert_epoch('scheduler', 1)",
    "SELECT holdfast.advance_epoch('scheduler', 9)",
    "SELECT holdfast.protect('pg_class', 'scheduler')",
  ];
  expect(await refusals(stranger.at(database.url), statements)).toEqual(statements.map(() => denied));
});

test("a migration grants again what was granted, to roles that are still there", async () => {
  await using migrator = await createLogin("migrator");
  await using role = await createLogin("node");
  await using reader = await createLogin("reader");
  await using database = await migratedBy(migrator, role, reader);
  // As if these tables had come with the migration that follows.
  await withClient(migrator.at(database.url), async (client) => {
    await client.query(`REVOKE ALL ON ALL TABLES IN SCHEMA holdfast FROM ${role.quoted}, ${reader.quoted}`);
    await client.query("INSERT INTO holdfast.grants VALUES ('dropped since', 'node')");
    const migrations = await readMigrations();
    const next = { version: migrations.length + 1, name: "9999_next.sql", oldestCode: 1, sql: "SELECT 1" };
    await migrate(client, "holdfast", [...migrations, next]);
    const { rows } = await client.query("SELECT grantee, kind FROM holdfast.grants ORDER BY kind");
    expect(rows).toEqual([
      { grantee: role.name, kind: "node" },
      { grantee: reader.name, kind: "reader" },
    ]);
  });
  const selects = ["SELECT * FROM holdfast.tokens", "SELECT * FROM holdfast.leaders"];
  expect(await refusals(role.at(database.url), selects)).toEqual([undefined, undefined]);
  expect(await refusals(reader.at(database.url), selects)).toEqual([denied, undefined]);
});

test("a role that was a node and becomes a reader keeps nothing of what it had", async () => {
  await using role = await createLogin("node");
  await using database = await createTestDatabase();
  await using maintenance = await open(database.url);
  await maintenance.grant(role.name);
  const statements = ["SELECT hash FROM holdfast.tokens", "SELECT nextval('holdfast.epoch_changes')"];
  expect(await refusals(role.at(database.url), statements)).toEqual([undefined, undefined]);
  await maintenance.grant(role.name, "reader");
  expect(await refusals(role.at(database.url), statements)).toEqual([denied, denied]);
});

test("a role that cannot be granted to is told apart, each with the way out", async () => {
  await using stranger = await createLogin("stranger");
  await using database = await createTestDatabase();
  await using owner = await open(database.url);
  await expect(owner.grant("no one")).rejects.toMatchObject({
    code: "NOT_FOUND",
    message: expect.stringContaining(`CREATE ROLE "no one" LOGIN PASSWORD '...';`),
  });
  await expect(owner.grant("public")).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(owner.grant("postgres")).rejects.toMatchObject({ code: "REFUSED" });
  await owner.grant(stranger.name, "reader");
  await using other = await open(stranger.at(database.url));
  await expect(other.grant(stranger.name)).rejects.toMatchObject({
    code: "DATABASE_REFUSED",
    message: expect.stringContaining('migrate and grant as "postgres"'),
  });
});

test("what only an administrator can give is said as statements", async () => {
  await using database = await createTestDatabase();
  const name = `nologin_${randomBytes(4).toString("hex")}`;
  await administer(database, `CREATE ROLE ${name}`);
  try {
    await administer(database, `REVOKE CONNECT ON DATABASE ${database.name} FROM public`);
    await using maintenance = await open(database.url);
    expect((await maintenance.grant(name)).advice).toEqual([
      `ALTER ROLE "${name}" LOGIN;`,
      `GRANT CONNECT ON DATABASE "${database.name}" TO "${name}";`,
    ]);
  } finally {
    await database.drop();
    await withClient(inject("postgresUrl"), (client) => client.query(`DROP ROLE ${name}`));
  }
});

test("grants name every table, view and sequence of the schema", async () => {
  await using role = await createLogin("reader");
  await using database = await createTestDatabase();
  await using maintenance = await open(database.url);
  await maintenance.grant(role.name, "reader");
  const { rows } = await administer(
    database,
    `SELECT coalesce(array_agg(relname::text ORDER BY relname) FILTER (WHERE relkind <> 'S'), '{}') AS tables,
       coalesce(array_agg(relname::text ORDER BY relname) FILTER (WHERE relkind = 'S'), '{}') AS sequences
     FROM pg_class c WHERE relnamespace = 'holdfast'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'i')`,
  );
  expect(new Set(rows[0].tables)).toEqual(new Set(Object.keys(rightsOn)));
  expect(rows[0].sequences).toEqual(nodeSequences);
});
