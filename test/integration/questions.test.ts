import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import pg from "pg";
import { expect, test } from "vitest";
import { questionsOver } from "../../src/store/postgres/questions.js";
import { createTestDatabase, withClient } from "../support/postgres.js";

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
  // Also where it was: on a busy machine it may have slept out before this looks.
  const asked = "select from pg_stat_activity where application_name = 'asked' and query like '%pg_sleep%'";
  await withClient(url, async (client) => {
    await expect.poll(async () => (await client.query(asked)).rowCount, { interval: 5 }).toBe(1);
  });
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

/** One message of the protocol: its kind, its length, and what it holds. */
function said(kind: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(kind), length, body]);
}

/** A server whose welcome and whose end of the session come in one packet, as a process reads them that stood still meanwhile. */
async function startHasty() {
  const welcome = [said("R", Buffer.alloc(4)), said("K", Buffer.alloc(8)), said("Z", Buffer.from("I"))];
  const end = said(
    "E",
    Buffer.from("SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"),
  );
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(Buffer.concat([...welcome, end])));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const dispose = async (): Promise<void> => void (await new Promise((resolve) => server.close(resolve)));
  return { url: `postgres://nobody@127.0.0.1:${port}/none?sslmode=disable`, [Symbol.asyncDispose]: dispose };
}

test("a session that is ended right behind its welcome does not end the process", async () => {
  await using hasty = await startHasty();
  const pool = new pg.Pool({ connectionString: hasty.url, max: 1 });
  pool.on("error", () => undefined);
  const uncaught: unknown[] = [];
  const hear = (error: unknown): void => void uncaught.push(error);
  process.on("uncaughtException", hear);
  try {
    const questions = questionsOver(pool, "holdfast");
    await expect(questions.rows("asking", "select 1")).rejects.toMatchObject({ code: "DATABASE_AWAY" });
    expect(uncaught).toEqual([]);
  } finally {
    process.off("uncaughtException", hear);
    await pool.end();
  }
});
