import { rm } from "node:fs/promises";
import { expect, test } from "vitest";
import { type ConfigOptions, resolveConfig } from "../../src/config/config.js";
import { type Maintenance, openMaintenance } from "../../src/maintenance.js";
import { startEmbedded } from "../../src/store/embedded/server.js";
import { readMigrations } from "../../src/store/postgres/migrations.js";
import { spawnOwner } from "../support/embedded-owner.js";
import { createTestDatabase, makeTestDirectory, withClient } from "../support/postgres.js";
import { ensureRole, takeOver } from "../support/takeover.js";

const open = (url: string, options: ConfigOptions = {}): Promise<Maintenance> =>
  openMaintenance(resolveConfig({ ...options, store: { url, ...options.store } }, false));

const wish = { name: "ci", role: "operator", grants: [], lifetimeMs: 60_000 } as const;

test("the first token is made in an empty database, before any node has run there, and every node will hear of it", async () => {
  await using database = await createTestDatabase({ template: "template1" });
  await using maintenance = await open(database.url);
  const { token, secret } = await maintenance.createToken(wish, "alice");
  expect(secret).toMatch(/^hf_[\w-]{43}$/);
  expect(await maintenance.tokens()).toEqual([token]);
  expect(token).toMatchObject({ name: "ci", role: "operator", createdBy: "alice", revokedAt: null });
  const { rows } = await withClient(database.url, (client) =>
    client.query(
      "SELECT access_version::int, actor, action, target, outcome, node_id FROM holdfast.meta, holdfast.audit",
    ),
  );
  expect(rows).toEqual([
    { access_version: 1, actor: "alice", action: "token create", target: "ci", outcome: "done", node_id: null },
  ]);
});

test("a token is taken back by its id, and one that is not there is named", async () => {
  await using database = await createTestDatabase();
  await using maintenance = await open(database.url);
  const { token } = await maintenance.createToken(wish, "alice");
  expect((await maintenance.revokeToken(token.id)).revokedAt).not.toBeNull();
  await expect(maintenance.revokeToken("4711")).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("an epoch is advanced past what a lost database may have given, and whoever led is deposed", async () => {
  await using database = await createTestDatabase();
  await ensureRole(database.url, "scheduler");
  await withClient(database.url, (client) => takeOver(client));
  await using maintenance = await open(database.url);
  expect(await maintenance.advanceEpoch("scheduler", 4_000n)).toBe(4_000n);
  expect(await maintenance.advanceEpoch("scheduler", 7n)).toBe(4_001n);
  const { rows } = await withClient(database.url, (client) => client.query("SELECT holder FROM holdfast.leases"));
  expect(rows).toEqual([{ holder: null }]);
  await expect(maintenance.advanceEpoch("nobody", 7n)).rejects.toMatchObject({ code: "UNKNOWN_ROLE" });
  await expect(maintenance.advanceEpoch("No Role", 7n)).rejects.toMatchObject({ code: "UNKNOWN_ROLE" });
});

test("a dry run tells what a migration would do; the migration does it, and then there is nothing left to do", async () => {
  await using database = await createTestDatabase({ template: "template1" });
  await using maintenance = await open(database.url);
  const names = (await readMigrations()).map(({ name }) => name);
  expect(await maintenance.migrate({ dryRun: true })).toMatchObject({ from: 0, applied: names });
  expect(await maintenance.migrate()).toMatchObject({ from: 0, applied: names });
  expect(await maintenance.migrate()).toMatchObject({ from: names.length, applied: [] });
});

test("nothing is done to the schema of another cluster", async () => {
  await using database = await createTestDatabase();
  await ensureRole(database.url, "scheduler");
  await using maintenance = await open(database.url, { cluster: { name: "other" } });
  const refused = { code: "SCHEMA_IN_USE" };
  await expect(maintenance.migrate()).rejects.toMatchObject(refused);
  await expect(maintenance.createToken(wish, "alice")).rejects.toMatchObject(refused);
  await expect(maintenance.tokens()).rejects.toMatchObject(refused);
});

test('with migrate = "check" a token is not made in an old schema', async () => {
  await using database = await createTestDatabase({ template: "template1" });
  await using maintenance = await open(database.url, { store: { migrate: "check" } });
  await expect(maintenance.createToken(wish, "alice")).rejects.toMatchObject({ code: "SCHEMA_TOO_OLD" });
});

test("a database that is away is an error of the call, not of the opening", async () => {
  await using maintenance = await open("postgres://nobody@127.0.0.1:1/nowhere");
  await expect(maintenance.tokens()).rejects.toMatchObject({ code: "DATABASE_AWAY" });
});

test("the embedded server is started where nobody runs it, keeps what was done, and is stopped again", async () => {
  const dataDir = await makeTestDirectory();
  try {
    const config = resolveConfig({ store: { dataDir } }, false);
    {
      await using maintenance = await openMaintenance(config);
      await maintenance.createToken(wish, "alice");
    }
    await using server = await startEmbedded({ dataDir });
    const { rows } = await withClient(server.url, (client) => client.query("SELECT name FROM holdfast.tokens"));
    expect(rows).toEqual([{ name: "ci" }]);
  } finally {
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  }
});

test("an embedded server that another process runs is joined, and left running", async () => {
  const dataDir = await makeTestDirectory();
  try {
    using owner = spawnOwner({ dataDir });
    const ready = await owner.next();
    if (ready.kind !== "ready") throw new Error(`The owner said ${ready.kind}`);
    {
      await using maintenance = await openMaintenance(resolveConfig({ store: { dataDir } }, false));
      await maintenance.createToken(wish, "alice");
    }
    const { rows } = await withClient(ready.url, (client) => client.query("SELECT name FROM holdfast.tokens"));
    expect(rows).toEqual([{ name: "ci" }]);
    owner.child.kill("SIGKILL");
    await owner.exited;
    // Its server follows it; the next one on the directory waits for that.
    await using next = await startEmbedded({ dataDir });
    await next.stop();
  } finally {
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  }
});
