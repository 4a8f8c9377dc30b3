import { randomBytes } from "node:crypto";
import { expect, inject, test } from "vitest";
import { resolveConfig } from "../../src/config/config.js";
import { openMaintenance } from "../../src/maintenance.js";
import { nodeSequences, rightsOn } from "../../src/store/postgres/grants.js";
import { migrate, readMigrations } from "../../src/store/postgres/migrations.js";
import { createLogin, migratedBy } from "../support/login-role.js";
import { createTestDatabase, type TestDatabase, withClient } from "../support/postgres.js";

const open = (url: string) => openMaintenance(resolveConfig({ store: { url } }, false));

const administer = (database: TestDatabase, sql: string) => withClient(database.url, (client) => client.query(sql));

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

test("a migrator that was given the schema need not be able to create one", async () => {
  await using migrator = await createLogin("migrator");
  await using database = await createTestDatabase({ template: "template1" });
  await administer(database, `CREATE SCHEMA holdfast AUTHORIZATION ${migrator.quoted}`);
  await using maintenance = await open(migrator.at(database.url));
  expect((await maintenance.migrate()).applied).toEqual((await readMigrations()).map(({ name }) => name));
  expect(await refusals(migrator.at(database.url), ["CREATE SCHEMA mine"])).toEqual([denied]);
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
    "INSERT INTO holdfast.queue_segments (queue) VALUES ('mine')",
    "UPDATE holdfast.messages SET body = ''",
    "DELETE FROM holdfast.messages",
    "DELETE FROM holdfast.dead_letters",
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
    "SELECT holdfast.open_segment('mine')",
    "SELECT holdfast.drop_segments('mine', 0)",
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
    const version = migrations.length + 1;
    const next = { version, name: "9999_next.sql", oldestCode: 1, sql: "SELECT 1", digest: "" };
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
  const statements = [
    "SELECT hash FROM holdfast.tokens",
    "SELECT nextval('holdfast.epoch_changes')",
    "SELECT holdfast.drop_segments('mine', 0)",
  ];
  expect(await refusals(role.at(database.url), statements)).toEqual([undefined, undefined, undefined]);
  await maintenance.grant(role.name, "reader");
  expect(await refusals(role.at(database.url), statements)).toEqual([denied, denied, denied]);
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
  await administer(database, "SELECT holdfast.open_segment('mine')");
  const { rows } = await administer(
    database,
    // What a partition holds is reached through its table, and a column's own sequence through its column.
    `SELECT coalesce(array_agg(relname::text ORDER BY relname) FILTER (WHERE relkind <> 'S'), '{}') AS tables,
       coalesce(array_agg(relname::text ORDER BY relname) FILTER (WHERE relkind = 'S'), '{}') AS sequences
     FROM pg_class c WHERE relnamespace = 'holdfast'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
       AND NOT relispartition
       AND (relkind <> 'S' OR NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'i'))`,
  );
  expect(new Set(rows[0].tables)).toEqual(new Set(Object.keys(rightsOn)));
  expect(rows[0].sequences).toEqual(nodeSequences);
});

test("a node's role does all that alerts take", async () => {
  await using migrator = await createLogin("migrator");
  await using role = await createLogin("node");
  await using reader = await createLogin("reader");
  await using database = await migratedBy(migrator, role, reader);
  const order = JSON.stringify({
    sample: { at: 1, kept_ms: 1, series: "" },
    alerts: [],
    gone: ["no such alert"],
    notifications: [],
    told: [{ alert_id: "1", change: 1, target: "log" }],
    forget_after_ms: 1,
    durable: true,
  });
  const statements = [
    "SELECT holdfast.look_at_alerts(null, null, 1)",
    `SELECT holdfast.keep_alerts('a', 0, 0, '${order}')`,
    "SELECT holdfast.claim_alert_notifications('x', '{log}', 1, 1, 1)",
    "SELECT holdfast.settle_alert_notification(1, 'x', null, null)",
    "SELECT holdfast.list_alerts(1)",
  ];
  expect(await refusals(role.at(database.url), statements)).toEqual(statements.map(() => undefined));
});
