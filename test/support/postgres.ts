import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { inject } from "vitest";
import type { Settings } from "../../src/store/embedded/configuration.js";
import { type EmbeddedServer, type ServerExit, startEmbedded } from "../../src/store/embedded/server.js";
import type { StopMode } from "../../src/store/embedded/shutdown.js";
import { testBinaries } from "./postgres-version.js";

export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
  readonly name: string;
  /** Ends the sessions that are still in it. */
  drop(): Promise<void>;
}

/** A database of the test's own on the shared server, cloned from the migrated template or from the one named. */
export async function createTestDatabase({ template }: { readonly template?: string } = {}): Promise<TestDatabase> {
  const serverUrl = inject("postgresUrl");
  const name = `test_${randomBytes(6).toString("hex")}`;
  await withClient(serverUrl, (client) =>
    client.query(`CREATE DATABASE ${name} TEMPLATE ${template ?? inject("postgresTemplate")}`),
  );
  const url = new URL(serverUrl);
  url.pathname = name;
  const drop = async () => {
    await withClient(serverUrl, (client) => client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  };
  return { url: url.href, name, drop, [Symbol.asyncDispose]: drop };
}

/** Runs one piece of work in a session of its own. */
export async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  // The end of the session is told by the query that it cuts off, or by nobody where there is none.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The rows of a statement, in a session of its own. */
export async function rowsOf<Row extends object>(
  url: string,
  sql: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  return await withClient(url, async (client) => (await client.query<Row>(sql, [...values])).rows);
}

/** A server of the test's own, which it may stop, restart and crash. Its URL stays the same over restarts. */
export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  /** Of the server that runs now, or ran last. */
  readonly pid: number;
  readonly exited: Promise<ServerExit>;
  stop(mode?: StopMode): Promise<void>;
  /** Again after `stop` or `crash`; settings given here are added to those of the first start. */
  start(settings?: Settings): Promise<void>;
  restart(mode?: StopMode): Promise<void>;
  /** SIGKILL of the whole server, as by a power loss that spares the disk's cache. */
  crash(): Promise<void>;
}

/** Disposing stops it and removes its directory. */
export async function startTestServer(settings: Settings = {}): Promise<TestServer> {
  return await startIn(await makeTestDirectory(), settings);
}

export async function makeTestDirectory(): Promise<string> {
  return await mkdtemp(join(tmpdir(), "holdfast-test-"));
}

/** The same on a directory that exists, which is removed in the end; on a free port unless one is named. */
export async function startIn(dataDir: string, settings: Settings, firstPort = 0): Promise<TestServer> {
  const binaries = testBinaries();
  let current = settings;
  let server: EmbeddedServer = await startEmbedded({ dataDir, port: firstPort, settings, binaries });
  const { url, port } = server;
  const stop = (mode?: StopMode) => server.stop(mode);
  const start = async (added: Settings = {}) => {
    current = { ...current, ...added };
    server = await startEmbedded({ dataDir, port, settings: current, binaries });
  };
  return {
    url,
    port,
    dataDir,
    get pid() {
      return server.pid;
    },
    get exited() {
      return server.exited;
    },
    stop,
    start,
    async restart(mode) {
      await stop(mode);
      await start();
    },
    async crash() {
      process.kill(server.pid, "SIGKILL");
      await server.exited;
    },
    async [Symbol.asyncDispose]() {
      await server.stop("immediate");
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/**
 * SIGKILL of one session's process, as the OOM killer does it: the server then ends every session and recovers, while its
 * main process lives on. Resolves when a session that was open has seen it.
 */
export async function killOneSession(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  const ended = new Promise<void>((resolve) => {
    // The connection breaks under the client, which is the point of it.
    client.on("error", () => resolve());
    client.on("end", () => resolve());
  });
  await client.connect();
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const [session] = rows;
  if (session === undefined) throw new Error("PostgreSQL did not tell the session's pid");
  process.kill(session.pid, "SIGKILL");
  await ended;
}
