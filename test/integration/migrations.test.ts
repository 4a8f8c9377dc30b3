import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { type Migration, migrate, readMigrations } from "../../src/store/postgres/migrations.js";
import { clusterNode } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { createTestDatabase, withClient } from "../support/postgres.js";

const shipped = new URL("../../migrations/", import.meta.url);

/** What the next version of the code would ship: all of today's migrations, and one more. */
async function nextVersion(sql: string): Promise<readonly Migration[]> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-migrations-"));
  try {
    await cp(shipped, folder, { recursive: true });
    const number = String((await readMigrations()).length + 1).padStart(4, "0");
    await writeFile(join(folder, `${number}_next.sql`), sql);
    return await readMigrations(pathToFileURL(`${folder}/`));
  } finally {
    await rm(folder, { recursive: true });
  }
}

const emptyDatabase = () => createTestDatabase({ template: "template1" });
const schemaExists = (url: string) =>
  withClient(
    url,
    async (client) => (await client.query("SELECT FROM pg_namespace WHERE nspname = 'holdfast'")).rowCount === 1,
  );

test("during a rolling deploy old nodes lead on, and start anew, on the schema of the next version", async () => {
  await using database = await createTestDatabase();
  await using before = await startLocalNode(clusterNode(database.url, "before"));
  const term = await before.leads();
  const next = await nextVersion('-- oldest-code: 1\nALTER TABLE :"schema".nodes ADD COLUMN mood text;\n');
  const report = await withClient(database.url, (client) => migrate(client, "holdfast", next));
  expect(report.applied).toEqual([next.at(-1)?.name]);
  await expect(term.verify()).resolves.toBeUndefined();
  for (const mode of ["auto", "check"] as const) {
    await using after = await startLocalNode(clusterNode(database.url, `after-${mode}`, {}, { migrate: mode }));
    expect((await after.node.cluster.nodes()).map(({ nodeId }) => nodeId)).toContain("before");
  }
  await before.node.role("scheduler").stepDown();
  await using last = await startLocalNode(clusterNode(database.url, "last"));
  expect((await last.leads()).epoch).toBe(2n);
});

test("a schema that was made by another text of a migration is refused, with the way out, and left as it is", async () => {
  await using database = await createTestDatabase();
  await withClient(database.url, (client) =>
    client.query("UPDATE holdfast.migrations SET digest = 'another' WHERE version = 2"),
  );
  for (const mode of ["auto", "check"] as const) {
    await expect(startLocalNode(clusterNode(database.url, "a", {}, { migrate: mode }))).rejects.toMatchObject({
      code: "SCHEMA_DIFFERS",
      message: expect.stringMatching(/another text of 0002_membership\.sql .* DROP SCHEMA "holdfast" CASCADE/),
    });
  }
  await withClient(database.url, (client) => client.query("UPDATE holdfast.migrations SET digest = null"));
  await using _unknown = await startLocalNode(clusterNode(database.url, "a"));
});

test("code that is older than the schema allows is refused, and told to be upgraded", async () => {
  await using database = await createTestDatabase();
  const newest = (await readMigrations()).length + 1;
  const next = await nextVersion(`-- oldest-code: ${newest}\nALTER TABLE :"schema".nodes ADD COLUMN mood text;\n`);
  await withClient(database.url, (client) => migrate(client, "holdfast", next));
  for (const mode of ["auto", "check"] as const) {
    await expect(startLocalNode(clusterNode(database.url, "old", {}, { migrate: mode }))).rejects.toMatchObject({
      code: "SCHEMA_TOO_NEW",
      message: expect.stringContaining("upgrade this node"),
    });
  }
});

test("ten migrations of an empty database at once all succeed, and one of them does the work", async () => {
  await using database = await emptyDatabase();
  const migrations = await readMigrations();
  const reports = await Promise.all(
    Array.from({ length: 10 }, () => withClient(database.url, (client) => migrate(client, "holdfast", migrations))),
  );
  expect(reports.flatMap(({ applied }) => applied)).toEqual(migrations.map(({ name }) => name));
});

test("many nodes that start at once on an empty database all join", async () => {
  await using database = await emptyDatabase();
  const nodes = await Promise.all(
    Array.from({ length: 5 }, (_, index) => startLocalNode(clusterNode(database.url, `node-${index}`))),
  );
  try {
    const known = (await nodes[0]?.node.cluster.nodes()) ?? [];
    expect(known.map(({ status }) => status)).toEqual(nodes.map(() => "active"));
  } finally {
    await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
  }
});

test('migrate = "check" refuses an old schema with the command to run, and changes nothing', async () => {
  await using database = await emptyDatabase();
  await expect(startLocalNode(clusterNode(database.url, "node", {}, { migrate: "check" }))).rejects.toMatchObject({
    code: "SCHEMA_TOO_OLD",
    message: expect.stringContaining("holdfast migrate"),
  });
  expect(await schemaExists(database.url)).toBe(false);
});

test("a dry run tells what it would do, and does nothing", async () => {
  await using database = await emptyDatabase();
  const migrations = await readMigrations();
  const report = await withClient(database.url, (client) => migrate(client, "holdfast", migrations, { dryRun: true }));
  expect(report).toEqual({ from: 0, to: migrations.length, applied: migrations.map(({ name }) => name) });
  expect(await schemaExists(database.url)).toBe(false);
});

test("a migration that fails leaves nothing of itself, nor of those before it in the same run", async () => {
  await using database = await emptyDatabase();
  const broken = await nextVersion('-- oldest-code: 1\nCREATE TABLE :"schema".half (n int);\nSELECT 1 / 0;\n');
  await withClient(database.url, async (client) => {
    await expect(migrate(client, "holdfast", broken)).rejects.toMatchObject({ code: "22012" });
    await expect(client.query("SELECT 1")).resolves.toMatchObject({ rowCount: 1 });
  });
  expect(await schemaExists(database.url)).toBe(false);
});
