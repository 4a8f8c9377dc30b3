import { HoldfastError } from "../../errors.js";
import { readPidFile } from "./pid-file.js";
import { servesDirectory } from "./process-identity.js";
import { waitUntil } from "./wait-until.js";

const fastShutdownMs = 10_000;
const immediateShutdownMs = 10_000;

/**
 * Ends the server of an owner that died. It has been told to stop by then, but may still be writing its last checkpoint, or
 * the telling was lost. Call only as the owner of the directory.
 *
 * Answers the pid of a stale pid file, if one remains. PostgreSQL refuses to start while any process has that pid, so the
 * start must tell it that this one is no server.
 */
export async function endLeftBehindServer(pgdata: string): Promise<number | undefined> {
  for (const [signal, timeoutMs] of [
    ["SIGINT", fastShutdownMs],
    ["SIGQUIT", immediateShutdownMs],
  ] as const) {
    const left = readPidFile(pgdata);
    if (left === undefined) return undefined;
    if (!servesDirectory(left.pid, pgdata)) return left.pid;
    send(signal, left.pid, pgdata);
    if (await waitUntil(() => !servesDirectory(left.pid, pgdata), timeoutMs)) return readPidFile(pgdata)?.pid;
  }
  throw stillRuns(pgdata, readPidFile(pgdata)?.pid);
}

function send(signal: NodeJS.Signals, pid: number, pgdata: string): void {
  try {
    process.kill(pid, signal);
  } catch (cause) {
    // It may have ended by itself in this very moment; the wait that follows sees that.
    if ((cause as NodeJS.ErrnoException).code !== "ESRCH") throw stillRuns(pgdata, pid, cause);
  }
}

function stillRuns(pgdata: string, pid: number | undefined, cause?: unknown): HoldfastError {
  return new HoldfastError(
    "EMBEDDED_FAILED",
    `A PostgreSQL server left behind on ${pgdata}, process ${pid}, does not stop: end it by hand.`,
    {
      cause,
      details: { pid },
    },
  );
}
