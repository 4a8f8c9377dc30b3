import pg from "pg";
import { expect, test } from "vitest";
import { answered } from "../../src/store/postgres/answered.js";
import { createTestDatabase } from "../support/postgres.js";

test("a connection that does not answer in time is cut, and whoever waited for it goes on", async () => {
  await using database = await createTestDatabase();
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  pool.on("error", () => undefined);
  const client = await pool.connect();
  client.on("error", () => undefined);
  await expect(answered(client, client.query("select pg_sleep(60)"), 50)).rejects.toThrow("no answer within 50 ms");
  client.release(true);
  const next = await pool.connect();
  expect((await answered(next, next.query("select 1 as one"), 10_000)).rows).toEqual([{ one: 1 }]);
  next.release();
  await pool.end();
});
