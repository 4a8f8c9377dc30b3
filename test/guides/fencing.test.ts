import { describe, expect, test } from "vitest";
import { eventually } from "../examples/example-process.js";
import { blocksOf, Guide, patience, runSql } from "../support/guide.js";
import { createTestDatabase, rowsOf, withClient } from "../support/postgres.js";
import { takeOver } from "../support/takeover.js";
import { amountsIn, billingDatabase, type Library, secondRefused, someoneWaits, writeTwice } from "./fenced-writer.js";

const block = blocksOf("fencing");

const libraries: readonly Library[] = [
  {
    name: "Kysely",
    file: "fenced-kysely.mjs",
    imports: ['import { Kysely, PostgresDialect, sql } from "kysely";', 'import pg from "pg";'],
    open: "new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }) })",
    insert: 'await tx.insertInto("invoices").values({ amount }).execute()',
    waitForLock: "sql`select pg_advisory_xact_lock(4711)`.execute(tx)",
    close: "db.destroy()",
  },
  {
    name: "Drizzle",
    file: "fenced-drizzle.mjs",
    imports: [
      'import { sql } from "drizzle-orm";',
      'import { drizzle } from "drizzle-orm/node-postgres";',
      'import { integer, pgTable } from "drizzle-orm/pg-core";',
      'const invoices = pgTable("invoices", { amount: integer("amount").notNull() });',
    ],
    open: "drizzle(url)",
    insert: "await tx.insert(invoices).values({ amount })",
    waitForLock: "tx.execute(sql`select pg_advisory_xact_lock(4711)`)",
    close: "db.$client.end()",
  },
  {
    name: "Knex",
    file: "fenced-knex.mjs",
    imports: ['import knex from "knex";'],
    open: 'knex({ client: "pg", connection: url })',
    insert: 'await tx("invoices").insert({ amount })',
    waitForLock: 'tx.raw("select pg_advisory_xact_lock(4711)")',
    close: "db.destroy()",
  },
];

describe("inside the transactions of other libraries", patience, () => {
  test.each(libraries)(
    "$name: what a leader wrote that was deposed before its COMMIT is refused with HF001",
    async (library) => {
      await using database = await billingDatabase(1);
      const also = ["kysely", "drizzle-orm", "knex"];
      await using guide = await Guide.open("fencing", { DATABASE_URL: database.url }, { also });
      expect(await writeTwice(guide.project, database, library)).toEqual(secondRefused);
      expect(await amountsIn(database)).toEqual([1]);
    },
  );

  test("a leader writes through the function as the guide shows it", async () => {
    await using database = await createTestDatabase();
    await runSql(database.url, block("invoices.sql"));
    await using guide = await Guide.open("fencing", { DATABASE_URL: database.url }, { also: ["kysely"] });
    await guide.writeShown("fenced-kysely.mjs");
    const text = `
      import { createNode } from "holdfast";
      import { Kysely, PostgresDialect } from "kysely";
      import pg from "pg";
      import { fenced } from "./fenced-kysely.mjs";
      const url = process.env.DATABASE_URL;
      const db = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }) });
      const node = await createNode({ store: { url }, cluster: { enabled: true } });
      ${block("use-fenced").text}`;
    await using leader = await guide.project.start({ name: "leader.mjs", language: "js", text, line: 0 });
    await expect.poll(() => amountsIn(database), { timeout: 60_000, message: leader.lines.join("\n") }).toEqual([100]);
  });

  test("Drizzle and Knex write through Holdfast's own transaction, and are refused with it", async () => {
    await using database = await createTestDatabase();
    await runSql(database.url, block("invoices.sql"));
    const also = ["drizzle-orm", "knex"];
    await using guide = await Guide.open("fencing", { DATABASE_URL: database.url }, { also });
    const text = `
      import { drizzle } from "drizzle-orm/node-postgres";
      import { integer, pgTable } from "drizzle-orm/pg-core";
      import { createNode } from "holdfast";
      import knexOf from "knex";
      const invoices = pgTable("invoices", { amount: integer("amount").notNull() });
      const knex = knexOf({ client: "pg" });
      const node = await createNode({ store: { url: process.env.DATABASE_URL }, cluster: { enabled: true } });
      const write = async (tx, amount) => {
        await drizzle({ client: tx }).insert(invoices).values({ amount });
        await knex("invoices").insert({ amount: amount + 1 }).connection(tx);
      };
      node.role("billing").lead(async (term) => {
        await term.transaction((tx) => write(tx, 1));
        console.log("committed");
        await term
          .transaction(async (tx) => {
            await write(tx, 3);
            await tx.query("select pg_advisory_xact_lock(4711)");
          })
          .catch((error) => console.log("refused: " + error.code));
      });`;
    await withClient(database.url, async (holder) => {
      await holder.query("select pg_advisory_lock(4711)");
      await using writer = await guide.project.start({ name: "through.mjs", language: "js", text, line: 0 });
      await writer.line(/^committed$/);
      await someoneWaits(database.url);
      await takeOver(holder, "billing");
      await holder.query("select pg_advisory_unlock(4711)");
      await writer.line(/^refused: STALE_EPOCH$/);
    });
    expect(await amountsIn(database)).toEqual([1, 2]);
  });
});

test(
  "the leader of the guide is refused in the midst of its transaction, and nothing of that is written",
  async () => {
    await using database = await createTestDatabase();
    await runSql(database.url, block("invoices.sql"));
    await using guide = await Guide.open("fencing", { DATABASE_URL: database.url });
    await using leader = await guide.start("billing.mjs");
    const inserted = () => leader.lines.filter((line) => line === "inserted").length;
    await leader.line(/^committed$/);
    await withClient(database.url, async (client) => {
      await eventually(
        async () => {
          const before = inserted();
          await expect.poll(inserted).toBeGreaterThan(before);
          leader.signal("SIGSTOP");
          const { rowCount } = await client.query(
            "select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'",
          );
          if (rowCount === 1) return true;
          leader.signal("SIGCONT");
          return undefined;
        },
        () => "the leader was never stopped inside a transaction",
      );
      await takeOver(client, "billing");
      const before = await amountsIn(database);
      leader.signal("SIGCONT");
      await leader.line(/^refused: STALE_EPOCH$/);
      expect(await amountsIn(database)).toEqual(before);
    });
  },
  patience.timeout,
);

test("plain SQL commits under the epoch that leads, and is refused with HF001 under an older one", async () => {
  await using database = await billingDatabase(7);
  await runSql(database.url, block("assert.sql"));
  await withClient(database.url, (client) => takeOver(client, "billing"));
  await expect(runSql(database.url, block("assert.sql"))).rejects.toMatchObject({ code: "HF001" });
  expect(await amountsIn(database)).toEqual([100]);
});

test("a protected table takes what states the epoch that leads, and refuses an older one and none at all", async () => {
  await using database = await billingDatabase(7);
  await runSql(database.url, block("protect.sql"));
  await runSql(database.url, block("use.sql"));
  const plain = { name: "plain", language: "sql", text: "insert into invoices (amount) values (1)", line: 0 };
  await expect(runSql(database.url, plain)).rejects.toMatchObject({ code: "HF004" });
  await withClient(database.url, (client) => takeOver(client, "billing"));
  await expect(runSql(database.url, block("use.sql"))).rejects.toMatchObject({ code: "HF001" });
  expect(await amountsIn(database)).toEqual([100]);
});

test("a receiver takes the highest epoch that it has seen and higher ones, and none below", async () => {
  await using database = await createTestDatabase();
  await runSql(database.url, block("seen.sql"));
  const { text } = block("take.sql");
  const taken: number[] = [];
  for (const epoch of [7, 7, 9, 8, 7, 9, 3_900_000_000_000_001]) {
    if ((await rowsOf(database.url, text, ["billing", epoch])).length === 1) taken.push(epoch);
  }
  expect(taken).toEqual([7, 7, 9, 9, 3_900_000_000_000_001]);
  expect(await rowsOf(database.url, text, ["another role", 1])).toEqual([{ epoch: "1" }]);
});
