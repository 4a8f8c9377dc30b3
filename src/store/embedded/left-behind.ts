import { HoldfastError } from "../../errors.js";
import { readPidFile } from "./pid-file.js";
import { servesDirectory } from "./process-identity.js";
import { waitUntil } from "./wait-until.js";

// PostgreSQL itself kills, after five seconds, what does not end by an immediate shutdown.
const shutdownMs = 15_000;

/**
 * Ends the server of an owner that died. It has been told to stop by then, but may not be done, or the telling was lost. Call
 * only as the owner of the directory.
 *
 * Answers the pid of a stale pid file, if one remains. PostgreSQL refuses to start while any process has that pid, so the
 * start must tell it that this one is no server.
 */
export async function endLeftBehindServer(pgdata: string): Promise<number | undefined> {
  const left = readPidFile(pgdata);
  if (left === undefined) return undefined;
  if (!servesDirectory(left.pid, pgdata)) return left.pid;
  send("SIGQUIT", left.pid, pgdata);
  if (!(await waitUntil(() => !servesDirectory(left.pid, pgdata), shutdownMs))) throw stillRuns(pgdata, left.pid);
  return readPidFile(pgdata)?.pid;
}

function send(signal: NodeJS.Signals, pid: number, pgdata: string): void {
  try {
    process.kill(pid, signal);
  } catch (cause) {
    // It may have ended by itself in this very moment; the wait that follows sees that.
    if ((cause as NodeJS.ErrnoException).code !== "ESRCH") throw stillRuns(pgdata, pid, cause);
  }
}

function stillRuns(pgdata: string, pid: number, cause?: unknown): HoldfastError {
  return new HoldfastError(
    "EMBEDDED_FAILED",
    `A PostgreSQL server left behind on ${pgdata}, process ${pid}, does not stop: end it by hand.`,
    {
      cause,
      details: { pid },
    },
  );
}
