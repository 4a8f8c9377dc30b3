import { existsSync } from "node:fs";
import { ensurePassword, openDataDirectory } from "./data-directory.js";
import { superuser } from "./initialize.js";
import { readPidFile } from "./pid-file.js";
import { loopback } from "./port.js";
import { servesDirectory } from "./process-identity.js";
import { waitUntil } from "./wait-until.js";

/** Its owner may be about to start it. */
const startingMs = 10_000;

/**
 * The URL of the server that another process runs on the directory, with the password; null where none comes up. Whoever may
 * read the directory may connect: its owner, and nobody else.
 */
export async function findRunning(dataDir: string): Promise<string | null> {
  const directory = await openDataDirectory(dataDir);
  const port = (): number | null => {
    const file = readPidFile(directory.pgdata);
    if (file === undefined || !servesDirectory(file.pid, directory.pgdata)) return null;
    return file.status === "ready" || file.status === "standby" ? file.port : null;
  };
  if (!(await waitUntil(() => port() !== null, startingMs)) || !existsSync(directory.password)) return null;
  return `postgres://${superuser}:${await ensurePassword(directory)}@${loopback}:${port()}/postgres`;
}
