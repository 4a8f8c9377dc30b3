import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "pg";
import { inject, test } from "vitest";
import { startWireProxy, type WireProxy } from "./wire-proxy.js";

async function startProxy(): Promise<WireProxy> {
  const { hostname, port } = new URL(inject("postgresUrl"));
  return await startWireProxy("127.0.0.1", { address: hostname, port: Number(port) });
}

async function connected(proxy: WireProxy, ssl: boolean): Promise<Client> {
  const url = new URL(inject("postgresUrl"));
  url.host = `${proxy.address}:${proxy.port}`;
  const client = new Client({ connectionString: url.href, ssl: ssl ? { rejectUnauthorized: false } : false });
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

for (const ssl of [true, false]) {
  test.concurrent(`a COMMIT whose answer is lost is done, ${ssl ? "with" : "without"} TLS`, async ({ expect }) => {
    await using proxy = await startProxy();
    const client = await connected(proxy, ssl);
    const other = await connected(proxy, ssl);
    const table = `wire_${ssl ? "with" : "without"}_tls`;
    await client.query(`CREATE TABLE ${table} (n integer)`);
    const lost = proxy.loseReply("end", 20_000);
    await client.query("BEGIN");
    await client.query(`INSERT INTO ${table} VALUES (1)`);
    await expect(client.query("COMMIT")).rejects.toThrow("Connection terminated unexpectedly");
    expect(await lost).toBe(true);
    expect((await other.query(`TABLE ${table}`)).rows).toEqual([{ n: 1 }]);
    await other.query(`DROP TABLE ${table}`);
    await other.end();
  });
}

test.concurrent("a reply that nobody's COMMIT called for is not lost, and the wait for it ends", async ({ expect }) => {
  await using proxy = await startProxy();
  const client = await connected(proxy, false);
  const lost = proxy.loseReply("silence", 300);
  expect((await client.query("SELECT 'COMMIT' AS word")).rows).toEqual([{ word: "COMMIT" }]);
  expect(await lost).toBe(false);
  await client.query("BEGIN; COMMIT");
  await client.end();
});

for (const way of ["to", "from", "both"] as const) {
  test.concurrent(`what a cut (${way}) holds up arrives when it is mended, in order`, async ({ expect }) => {
    await using proxy = await startProxy();
    const client = await connected(proxy, true);
    proxy.cut(way);
    let answered = false;
    const asked = client.query("SELECT 1 AS n").then(({ rows }) => {
      answered = true;
      return rows;
    });
    await pause(50);
    expect(answered).toBe(false);
    proxy.mend();
    expect(await asked).toEqual([{ n: 1 }]);
    await client.end();
  });
}

test.concurrent("a shorter delay lets nothing overtake what is on its way", async ({ expect }) => {
  await using proxy = await startProxy();
  const client = await connected(proxy, false);
  const order: number[] = [];
  proxy.delay(80);
  const first = client.query("SELECT 1").then(() => order.push(1));
  await pause(5);
  proxy.delay(0);
  await Promise.all([first, client.query("SELECT 2").then(() => order.push(2))]);
  expect(order).toEqual([1, 2]);
  await client.end();
});

test.concurrent("the end of a client is the end of its session", async ({ expect }) => {
  await using proxy = await startProxy();
  const client = await connected(proxy, true);
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const other = await connected(proxy, true);
  const ended = once(client, "end");
  await client.end();
  await ended;
  await expect
    .poll(async () => (await other.query("SELECT FROM pg_stat_activity WHERE pid = $1", [rows[0]?.pid])).rowCount)
    .toBe(0);
  await other.end();
});
