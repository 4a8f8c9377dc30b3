/** The script of the thread that child-guard.ts starts: ends a process that has lost its supervisor and does not stop. */
import { parentPort, workerData } from "node:worker_threads";

export interface WatchData {
  /** The pid of the supervisor. */
  readonly supervisor: number;
  readonly graceMs: number;
  /** What the process has started ends with it. */
  readonly withGroup: boolean;
}

/** The main thread has been told to stop. */
export interface GuardOrder {
  readonly kind: "stop";
}

const lookMs = 1_000;
const { supervisor, graceMs, withGroup } = workerData as WatchData;
let isArmed = false;

function arm(): void {
  if (isArmed) return;
  isArmed = true;
  setTimeout(() => process.kill(withGroup ? -process.pid : process.pid, "SIGKILL"), graceMs);
}

parentPort?.on("message", arm);
// The kernel gives an orphan another parent: seen here also where the main thread sees nothing any more.
setInterval(() => {
  if (process.ppid !== supervisor) arm();
}, lookMs);
