import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError } from "./errors.js";
import { openDataDirectory } from "./store/embedded/data-directory.js";
import { endLeftBehindServer } from "./store/embedded/left-behind.js";
import { takeOwnership } from "./store/embedded/owner.js";
import { startEmbedded } from "./store/embedded/server.js";

/** The database under a demo: for all of its nodes, and only while the demo runs. */
export interface DemoDatabase {
  readonly url: string;
  /** Resolves when it ended although nobody asked it to. */
  readonly failed: Promise<HoldfastError>;
  stop(): Promise<void>;
}

export interface DemoDatabaseOptions {
  readonly dataDir: string;
  /** Throws away what an earlier demo left in the directory. */
  readonly fresh: boolean;
}

export async function startDemoDatabase({ dataDir, fresh }: DemoDatabaseOptions): Promise<DemoDatabase> {
  try {
    if (fresh) await throwAway(dataDir);
    const server = await startEmbedded({ dataDir });
    const failed = new Promise<HoldfastError>((resolve) => {
      void server.exited.then((exit) => {
        if (exit.kind === "failed") resolve(exit.error);
      });
    });
    return { url: server.url, failed, stop: () => server.stop() };
  } catch (error) {
    throw error instanceof HoldfastError ? withWayOut(error) : error;
  }
}

/** Only what the embedded server made itself: the directory may be anybody's. */
async function throwAway(dataDir: string): Promise<void> {
  const directory = await openDataDirectory(dataDir);
  const ownership = takeOwnership(directory);
  try {
    const { pgdata, password } = directory;
    if (!existsSync(pgdata)) return;
    if (!existsSync(join(pgdata, "PG_VERSION"))) {
      throw new HoldfastError(
        "EMBEDDED_FAILED",
        `${pgdata} is not a database of the embedded PostgreSQL, and is left as it is: name another directory with --data-dir.`,
      );
    }
    await endLeftBehindServer(pgdata);
    await rm(pgdata, { recursive: true, force: true, maxRetries: 5 });
    await rm(password, { force: true });
  } finally {
    ownership.release();
  }
}

/** The embedded server speaks of settings, and a demo has none. */
function withWayOut(error: HoldfastError): HoldfastError {
  const { code, message, details } = error;
  const said = (wayOut: string): HoldfastError =>
    new HoldfastError(code, `${message} ${wayOut}`, { cause: error, details });
  if (code === "EMBEDDED_UNSUPPORTED") {
    return said("For the demo: --database postgres://user:password@host/database.");
  }
  if (code !== "EMBEDDED_FAILED" || !("pid" in details)) return error;
  return said("If that is another demo, give this one a directory of its own with --data-dir.");
}
