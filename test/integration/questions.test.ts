import { execFileSync } from "node:child_process";
import pg from "pg";
import { expect, test } from "vitest";
import { questionsOver } from "../../src/store/postgres/questions.js";
import { createTestDatabase } from "../support/postgres.js";

// The process stands still (as frozen) while its answer comes and its session is ended: both are read in one go.
const endIt = `
import pg from "pg";
const client = new pg.Client({ connectionString: process.argv[1] });
await client.connect();
const idle = "select pid from pg_stat_activity where application_name = 'asked' and state = 'idle'";
let rows = [];
while (rows.length === 0) ({ rows } = await client.query(idle));
await client.query("select pg_terminate_backend($1)", [rows[0].pid]);
while ((await client.query("select from pg_stat_activity where application_name = 'asked'")).rowCount > 0);
await client.end();
`;

async function isUnderWay(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const active = "select from pg_stat_activity where application_name = 'asked' and state = 'active'";
  await expect.poll(async () => (await client.query(active)).rowCount, { interval: 5 }).toBe(1);
  await client.end();
}

test("a session that is ended right behind its answer does not end the process", async () => {
  await using database = await createTestDatabase();
  const pool = new pg.Pool({ connectionString: database.url, application_name: "asked", max: 1 });
  pool.on("error", () => undefined);
  const questions = questionsOver(pool, "holdfast");
  const asked = questions.rows("asking", "select pg_sleep(0.3)");
  await isUnderWay(database.url);
  execFileSync(process.execPath, ["--input-type=module", "-e", endIt, database.url], { cwd: process.cwd() });
  await expect(asked).resolves.toHaveLength(1);
  expect(await questions.rows("asking again", "select 1")).toHaveLength(1);
  await pool.end();
});
