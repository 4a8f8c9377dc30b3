import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { atTheEnd } from "./cleanup.js";
import { startEmbedded } from "./holdfast.js";

/** A server of the bench's own, durable as it comes, and a session to look at it from outside. */
export interface BenchServer {
  readonly url: string;
  /** Its main process, of which all others are children. */
  readonly pid: number;
  readonly session: pg.Client;
}

export async function startServer(settings: Readonly<Record<string, string>> = {}): Promise<BenchServer> {
  const dataDir = await mkdtemp(join(tmpdir(), "holdfast-bench-"));
  atTheEnd(() => rm(dataDir, { recursive: true, force: true }));
  const server = await startEmbedded({ dataDir, settings: { max_connections: "200", ...settings } });
  atTheEnd(() => server.stop("immediate"));
  const session = new pg.Client({ connectionString: server.url, application_name: "bench" });
  await session.connect();
  // The server goes first when a run is interrupted.
  session.on("error", () => undefined);
  atTheEnd(() => session.end());
  return { url: server.url, pid: server.pid, session };
}
