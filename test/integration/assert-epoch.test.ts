import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { expect, test } from "vitest";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { ensureRole, takeOver } from "../support/takeover.js";

async function electedDatabase(ttlMs = 60_000) {
  const database = await createTestDatabase();
  await ensureRole(database.url, "scheduler");
  const epoch = await withClient(database.url, async (client) => {
    await client.query("CREATE TABLE written (line text)");
    return await takeOver(client, "scheduler", { ttlMs });
  });
  return Object.assign(database, { epoch });
}

test.concurrent("any client can fence its own transaction with one statement before COMMIT", async () => {
  await using database = await electedDatabase();
  await withClient(database.url, async (client) => {
    await client.query(
      `BEGIN; INSERT INTO written VALUES ('fenced'); SELECT holdfast.assert_epoch('scheduler', ${database.epoch}); COMMIT`,
    );
    await takeOver(client);
    await expect(
      client.query(
        `BEGIN; INSERT INTO written VALUES ('stale'); SELECT holdfast.assert_epoch('scheduler', ${database.epoch}); COMMIT`,
      ),
    ).rejects.toMatchObject({ code: "HF001" });
    await client.query("ROLLBACK");
    const noEpoch = client.query("SELECT holdfast.assert_epoch('scheduler', NULL)");
    await expect(noEpoch).rejects.toMatchObject({ code: "HF001" });
    await expect(client.query("SELECT holdfast.assert_epoch('nobody', 1)")).rejects.toMatchObject({ code: "HF003" });
    expect((await client.query("SELECT line FROM written")).rows).toEqual([{ line: "fenced" }]);
  });
});

test.concurrent("a takeover waits for a transaction that has asserted, and that one is the last of its epoch", async () => {
  await using database = await electedDatabase();
  await withClient(database.url, async (writer) => {
    await writer.query("BEGIN");
    await writer.query("INSERT INTO written VALUES ('last')");
    await writer.query("SELECT holdfast.assert_epoch('scheduler', $1)", [database.epoch]);
    await withClient(database.url, async (successor) => {
      await expect(takeOver(successor, "scheduler", { lockTimeoutMs: 50 })).rejects.toMatchObject({ code: "55P03" });
    });
    await writer.query("COMMIT");
  });
  await withClient(database.url, async (client) => {
    expect(await takeOver(client)).toBe(database.epoch + 1n);
    expect((await client.query("SELECT line FROM written")).rows).toEqual([{ line: "last" }]);
  });
});

test.concurrent("a client that asserts and then idles is ended soon, and does not hold a takeover up", async () => {
  await using database = await electedDatabase(1_000);
  const idler = new Client({ connectionString: database.url });
  const ended = new Promise<Error>((resolve) => {
    idler.once("error", resolve);
  });
  idler.on("error", () => undefined);
  await idler.connect();
  await idler.query("BEGIN");
  await idler.query("INSERT INTO written VALUES ('idle')");
  await idler.query("SELECT holdfast.assert_epoch('scheduler', $1)", [database.epoch]);
  await withClient(database.url, async (client) => {
    expect(await takeOver(client)).toBe(database.epoch + 1n);
    expect((await client.query("SELECT line FROM written")).rows).toEqual([]);
  });
  expect(await ended).toMatchObject({ code: "25P03" });
});

test.concurrent("a role without rights on the tables can assert once it is granted the schema, and can do nothing else there", async () => {
  await using database = await electedDatabase();
  const name = `writer_${randomBytes(4).toString("hex")}`;
  const url = new URL(database.url);
  url.username = name;
  url.password = "secret";
  const assert = () =>
    withClient(url.href, (client) => client.query("SELECT holdfast.assert_epoch('scheduler', $1)", [database.epoch]));
  await withClient(database.url, async (owner) => {
    await owner.query(`CREATE ROLE ${name} LOGIN PASSWORD 'secret'`);
    try {
      await expect(assert()).rejects.toMatchObject({ code: "42501" });
      await owner.query(`GRANT USAGE ON SCHEMA holdfast TO ${name}`);
      await expect(assert()).resolves.toMatchObject({ rowCount: 1 });
      await withClient(url.href, async (client) => {
        for (const sql of ["SELECT FROM holdfast.leases", "UPDATE holdfast.leases SET epoch = epoch + 1"]) {
          await expect(client.query(sql)).rejects.toMatchObject({ code: "42501" });
        }
      });
    } finally {
      await owner.query(`DROP OWNED BY ${name}; DROP ROLE ${name}`);
    }
  });
});
