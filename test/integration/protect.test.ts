import type { Client } from "pg";
import { expect, test } from "vitest";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { postgresMajor } from "../support/postgres-version.js";
import { ensureRole, takeOver } from "../support/takeover.js";

/** A table with one line, protected by the role; and two clients in it. */
async function protecting(work: (writer: Client, successor: Client, epoch: bigint) => Promise<void>): Promise<void> {
  await using database = await createTestDatabase();
  await ensureRole(database.url, "scheduler");
  await withClient(database.url, (writer) =>
    withClient(database.url, async (successor) => {
      await writer.query("CREATE TABLE guarded (line text)");
      await writer.query("INSERT INTO guarded VALUES ('old')");
      await writer.query("SELECT holdfast.protect('guarded', 'scheduler')");
      await work(writer, successor, await takeOver(successor));
    }),
  );
}

const linesOf = async (client: Client) =>
  (await client.query<{ line: string }>("SELECT line FROM guarded ORDER BY line")).rows.map(({ line }) => line);

const writes = {
  INSERT: "INSERT INTO guarded VALUES ('new')",
  UPDATE: "UPDATE guarded SET line = 'new'",
  DELETE: "DELETE FROM guarded",
  TRUNCATE: "TRUNCATE guarded",
  COPY: "COPY guarded FROM PROGRAM 'echo new'",
  // PostgreSQL 14 does not know it.
  ...(postgresMajor() >= 15 && {
    MERGE:
      "MERGE INTO guarded USING (SELECT 'old' AS line) s ON s.line = guarded.line WHEN MATCHED THEN UPDATE SET line = 'new'",
  }),
};

test.concurrent("a protected table refuses every kind of write that states no epoch", () =>
  protecting(async (writer) => {
    for (const [kind, sql] of Object.entries(writes)) {
      await expect(writer.query(sql), kind).rejects.toMatchObject({ code: "HF004" });
    }
    expect(await linesOf(writer)).toEqual(["old"]);
  }));

test.concurrent("a protected table takes every kind of write under the epoch that leads", () =>
  protecting(async (writer, _successor, epoch) => {
    for (const [kind, sql] of Object.entries(writes)) {
      await writer.query("BEGIN");
      await writer.query("SELECT holdfast.use_epoch('scheduler', $1)", [epoch]);
      await expect(writer.query(sql), kind).resolves.toBeDefined();
      await writer.query("COMMIT");
    }
    const { rows } = await writer.query("SELECT FROM holdfast.fenced_writes");
    expect(rows).toEqual([]);
  }));

test.concurrent("every kind of write is refused at its commit when a takeover came in between", () =>
  protecting(async (writer, successor, first) => {
    let epoch = first;
    for (const [kind, sql] of Object.entries(writes)) {
      await writer.query("BEGIN");
      await writer.query("SELECT holdfast.use_epoch('scheduler', $1)", [epoch]);
      await writer.query(sql);
      epoch = await takeOver(successor);
      await expect(writer.query("COMMIT"), kind).rejects.toMatchObject({ code: "HF001" });
      await writer.query("ROLLBACK");
    }
    expect(await linesOf(writer)).toEqual(["old"]);
  }));

for (const isolation of ["REPEATABLE READ", "SERIALIZABLE"]) {
  test.concurrent(`under ${isolation}, whose snapshot still shows the old epoch, the commit is refused too`, () =>
    protecting(async (writer, successor, epoch) => {
      await writer.query(`BEGIN ISOLATION LEVEL ${isolation}`);
      await writer.query("SELECT holdfast.use_epoch('scheduler', $1)", [epoch]);
      await writer.query(writes.INSERT);
      await takeOver(successor);
      await expect(writer.query("COMMIT")).rejects.toMatchObject({ code: "40001" });
      await writer.query("ROLLBACK");
      expect(await linesOf(writer)).toEqual(["old"]);
    }));
}

test.concurrent("a transaction cannot change its epoch after its first write", () =>
  protecting(async (writer, successor, epoch) => {
    await writer.query("BEGIN");
    await writer.query("SELECT holdfast.use_epoch('scheduler', $1)", [epoch]);
    await writer.query(writes.INSERT);
    const next = await takeOver(successor);
    await writer.query("SELECT holdfast.use_epoch('scheduler', $1)", [next]);
    await expect(writer.query(writes.INSERT)).rejects.toMatchObject({ code: "HF001" });
    await writer.query("ROLLBACK");
    // Nor does it help to state the new one and write no more.
    await writer.query("BEGIN");
    await writer.query("SELECT holdfast.use_epoch('scheduler', $1)", [epoch]);
    await writer.query(writes.INSERT);
    await writer.query("SELECT holdfast.use_epoch('scheduler', $1)", [next]);
    await expect(writer.query("COMMIT")).rejects.toMatchObject({ code: "HF001" });
    await writer.query("ROLLBACK");
    expect(await linesOf(writer)).toEqual(["old"]);
  }));

test.concurrent("SET CONSTRAINTS IMMEDIATE only moves the check forward, and keeps takeovers out from then on", () =>
  protecting(async (writer, successor, epoch) => {
    await writer.query("BEGIN");
    await writer.query("SELECT holdfast.use_epoch('scheduler', $1)", [epoch]);
    await writer.query("SET CONSTRAINTS ALL IMMEDIATE");
    await writer.query(writes.INSERT);
    await expect(takeOver(successor, "scheduler", { lockTimeoutMs: 50 })).rejects.toMatchObject({ code: "55P03" });
    await writer.query(writes.INSERT);
    await writer.query("COMMIT");
    expect(await linesOf(writer)).toEqual(["new", "new", "old"]);

    await writer.query("BEGIN");
    await writer.query("SELECT holdfast.use_epoch('scheduler', $1)", [epoch]);
    await writer.query(writes.DELETE);
    const next = await takeOver(successor);
    await expect(writer.query("SET CONSTRAINTS ALL IMMEDIATE")).rejects.toMatchObject({ code: "HF001" });
    await writer.query("ROLLBACK");

    // After an early check under one epoch, no other can be stated.
    await writer.query("BEGIN");
    await writer.query("SET CONSTRAINTS ALL IMMEDIATE");
    await writer.query("SELECT holdfast.use_epoch('scheduler', $1)", [next]);
    await writer.query(writes.INSERT);
    await writer.query("SELECT holdfast.use_epoch('scheduler', $1)", [epoch]);
    await expect(writer.query(writes.INSERT)).rejects.toMatchObject({ code: "HF001" });
    await writer.query("ROLLBACK");
    expect(await linesOf(writer)).toEqual(["new", "new", "old"]);
  }));

test.concurrent("writes that a savepoint took back do not hide the epoch of those that stay", () =>
  protecting(async (writer, successor, epoch) => {
    await writer.query("BEGIN");
    await writer.query("SELECT holdfast.use_epoch('scheduler', $1)", [epoch]);
    await writer.query("SAVEPOINT s");
    await writer.query(writes.INSERT);
    await writer.query("ROLLBACK TO s");
    await writer.query(writes.INSERT);
    await takeOver(successor);
    await expect(writer.query("COMMIT")).rejects.toMatchObject({ code: "HF001" });
    await writer.query("ROLLBACK");
    expect(await linesOf(writer)).toEqual(["old"]);
  }));

test.concurrent("a protected table is protected by way of its partitions and its views, too", () =>
  protecting(async (writer) => {
    await writer.query("CREATE TABLE parted (n int) PARTITION BY RANGE (n)");
    await writer.query("CREATE TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (10)");
    await writer.query("SELECT holdfast.protect('parted', 'scheduler')");
    await writer.query("CREATE VIEW shown AS SELECT * FROM guarded");
    const detours = [
      "INSERT INTO parted VALUES (1)",
      "INSERT INTO part VALUES (1)",
      "TRUNCATE part",
      "INSERT INTO shown VALUES ('new')",
    ];
    for (const sql of detours) await expect(writer.query(sql), sql).rejects.toMatchObject({ code: "HF004" });
  }));

test.concurrent("an unprotected table takes anything again, and an unknown role protects nothing", () =>
  protecting(async (writer) => {
    await expect(writer.query("SELECT holdfast.protect('guarded', 'nobody')")).rejects.toMatchObject({ code: "HF003" });
    await expect(writer.query(writes.INSERT)).rejects.toMatchObject({ code: "HF004" });
    await writer.query("SELECT holdfast.unprotect('guarded')");
    await writer.query(writes.INSERT);
    expect(await linesOf(writer)).toEqual(["new", "old"]);
  }));
