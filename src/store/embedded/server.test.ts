import { spawn } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeTestDirectory, withClient } from "../../../test/support/postgres.js";
import { processMark } from "./process-identity.js";
import { type EmbeddedServer, startEmbedded } from "./server.js";
import { waitUntil } from "./wait-until.js";

let dataDir: string;
let servers: EmbeddedServer[];

beforeEach(async () => {
  dataDir = await makeTestDirectory();
  servers = [];
});

afterEach(async () => {
  await Promise.all(servers.map((server) => server.stop("immediate")));
  await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
});

async function start(
  options: { port?: number; settings?: Record<string, string>; startTimeoutMs?: number } = {},
): Promise<EmbeddedServer> {
  const server = await startEmbedded({ dataDir, ...options });
  servers.push(server);
  return server;
}

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function show(url: string, setting: string): Promise<unknown> {
  return await withClient(
    url,
    async (client) => (await client.query(`SELECT current_setting($1) AS value`, [setting])).rows[0].value,
  );
}

test("a new directory becomes a durable UTF-8 server that sorts by code point", async () => {
  const { url } = await start();
  expect(await show(url, "fsync")).toBe("on");
  expect(await show(url, "synchronous_commit")).toBe("on");
  expect(await show(url, "max_connections")).toBe("100");
  const { rows } = await withClient(url, (client) =>
    client.query(
      "SELECT pg_encoding_to_char(encoding) AS encoding, datlocprovider AS provider, datlocale AS locale FROM pg_database WHERE datname = 'postgres'",
    ),
  );
  expect(rows).toEqual([{ encoding: "UTF8", provider: "b", locale: "C.UTF-8" }]);
});

test("it is reached with the password only, and from this machine only", async () => {
  const { url, port, pid } = await start();
  const wrong = new URL(url);
  wrong.password = "guess";
  await expect(withClient(wrong.href, async () => undefined)).rejects.toMatchObject({ code: "28P01" });

  const outward = Object.values(networkInterfaces()).flatMap(
    (addresses) => addresses?.filter(({ internal, family }) => !internal && family === "IPv4") ?? [],
  );
  for (const { address } of outward) {
    await expect(
      withClient(`postgres://holdfast@${address}:${port}/postgres`, async () => undefined),
    ).rejects.toMatchObject({ code: "ECONNREFUSED" });
  }
  expect(await show(url, "listen_addresses")).toBe("127.0.0.1");

  const passwordFile = join(dataDir, "password");
  expect(statSync(passwordFile).mode & 0o777).toBe(0o600);
  expect(readFileSync(passwordFile, "utf8").trim()).toBe(new URL(url).password);
  if (process.platform === "linux")
    expect(readFileSync(`/proc/${pid}/cmdline`, "utf8")).not.toContain(new URL(url).password);
});

test("a stopped server is gone, and the next start finds its data and its password", async () => {
  const first = await start();
  await withClient(first.url, (client) => client.query("CREATE TABLE kept AS SELECT 7 AS n"));
  await first.stop();
  expect(runs(first.pid)).toBe(false);
  expect(await first.exited).toEqual({ kind: "stopped" });
  await first.stop();

  const second = await start();
  expect(second.pid).not.toBe(first.pid);
  expect(new URL(second.url).password).toBe(new URL(first.url).password);
  expect((await withClient(second.url, (client) => client.query("SELECT n FROM kept"))).rows).toEqual([{ n: 7 }]);
});

test("a smart stop lets an open session finish, a fast one ends it", async () => {
  const server = await start();
  const client = new Client({ connectionString: server.url });
  await client.connect();
  const smart = server.stop("smart");
  await client.query("SELECT 1");
  const ended = new Promise((resolve) => client.on("error", resolve));
  const fast = server.stop("fast");
  expect(await ended).toMatchObject({ code: "57P01" });
  await Promise.all([smart, fast]);
});

test("a killed server is reported as failed, and starts again with what had committed", async () => {
  const first = await start();
  const client = new Client({ connectionString: first.url });
  client.on("error", () => undefined);
  await client.connect();
  await client.query("CREATE TABLE kept AS SELECT 7 AS n");
  process.kill(first.pid, "SIGKILL");
  expect(await first.exited).toMatchObject({
    kind: "failed",
    error: { code: "EMBEDDED_FAILED", message: expect.stringContaining("ended by itself (SIGKILL)") },
  });
  const second = await start();
  expect((await withClient(second.url, (session) => session.query("SELECT n FROM kept"))).rows).toEqual([{ n: 7 }]);
});

test("a start waits for a session that outlives its killed server", async () => {
  const first = await start();
  const client = new Client({ connectionString: first.url });
  client.on("error", () => undefined);
  await client.connect();
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const session = rows[0]?.pid as number;
  process.kill(session, "SIGSTOP");
  process.kill(first.pid, "SIGKILL");
  await first.exited;
  try {
    const starting = start();
    const log = join(dataDir, "postgres.log");
    expect(await waitUntil(() => readFileSync(log, "utf8").includes("pre-existing shared memory block"), 15_000)).toBe(
      true,
    );
    process.kill(session, "SIGCONT");
    const second = await starting;
    expect(processMark(session)).toBeUndefined();
    expect(await show(second.url, "port")).toBe(String(second.port));
  } finally {
    if (processMark(session) !== undefined) process.kill(session, "SIGKILL");
  }
});

test("a pid file whose pid belongs to another program by now does not stand in the way", async () => {
  const first = await start();
  const pidFile = join(dataDir, "data", "postmaster.pid");
  const text = readFileSync(pidFile, "utf8");
  await first.stop();
  const stranger = spawn("sleep", ["60"]);
  try {
    writeFileSync(pidFile, text.replace(/^\d+/, String(stranger.pid)));
    const second = await start();
    expect(await show(second.url, "port")).toBe(String(second.port));
    expect(runs(stranger.pid as number)).toBe(true);
  } finally {
    stranger.kill();
  }
});

test("a directory in use is refused by the pid of its owner, and the server there is left alone", async () => {
  const first = await start();
  await expect(start()).rejects.toMatchObject({
    code: "EMBEDDED_FAILED",
    message: expect.stringContaining(`is in use by process ${process.pid}:`),
  });
  expect(await show(first.url, "port")).toBe(String(first.port));
});

test("a port that was asked for and is taken is named, and does not spoil the directory", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as { port: number };
  await expect(start({ port })).rejects.toMatchObject({
    code: "EMBEDDED_FAILED",
    message: `Port ${port} on 127.0.0.1 is taken by another program: name another one, or none to get a free one.`,
  });
  await new Promise((resolve) => other.close(resolve));
  expect((await start({ port })).port).toBe(port);
});

test("the files of another major version are refused by both numbers", async () => {
  await (await start()).stop();
  writeFileSync(join(dataDir, "data", "PG_VERSION"), "17\n");
  await expect(start()).rejects.toMatchObject({
    code: "EMBEDDED_FAILED",
    message: expect.stringMatching(/was made by PostgreSQL 17, and the embedded one is PostgreSQL 18:/),
  });
});

test("the directory of another PostgreSQL server is not touched", async () => {
  writeFileSync(join(dataDir, "PG_VERSION"), "18\n");
  await expect(start()).rejects.toMatchObject({
    code: "EMBEDDED_FAILED",
    message: expect.stringContaining("another PostgreSQL server"),
  });
});

test("a failed start carries what PostgreSQL wrote about it", async () => {
  await expect(start({ settings: { no_such_setting: "1" } })).rejects.toMatchObject({
    code: "EMBEDDED_FAILED",
    message: expect.stringMatching(/did not start[\s\S]*unrecognized configuration parameter "no_such_setting"/),
  });
});

test("settings reach the server as they are, and those that it must keep are refused", async () => {
  const odd = "it's \\ a\tname";
  const { url } = await start({ settings: { max_connections: "20", search_path: "'it''s'", "holdfast.odd": odd } });
  expect(await show(url, "max_connections")).toBe("20");
  expect(await show(url, "search_path")).toBe("'it''s'");
  expect(await show(url, "holdfast.odd")).toBe(odd);
  await servers[0]?.stop();
  await expect(start({ settings: { listen_addresses: "*" } })).rejects.toMatchObject({ code: "BAD_SETTINGS" });
  await expect(start({ settings: { "a\nfsync": "off" } })).rejects.toMatchObject({ code: "BAD_SETTINGS" });
});

test("a server that does not answer in time is ended and reported", async () => {
  await (await start()).stop();
  await expect(start({ startTimeoutMs: 1 })).rejects.toMatchObject({
    code: "EMBEDDED_FAILED",
    message: expect.stringContaining("was not ready after 1 ms"),
  });
  await start();
});
