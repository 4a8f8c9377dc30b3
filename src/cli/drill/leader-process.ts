import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { basename } from "node:path";
import { HoldfastError } from "../../errors.js";
import { oneLine } from "../paint.js";

/** What the registry says of a process. */
export interface RegisteredProcess {
  readonly nodeId: string;
  readonly host: string;
  readonly pid: number;
  /** Seconds since 1970, by the database's clock. */
  readonly startedAt: number | null;
}

/** The database's clock and this machine's may differ by so much; and the start of a process is known to 10 ms only. */
const clockSlackSeconds = 5;
const ticksPerSecond = 100;

/**
 * Makes sure that the pid is the leader's before anything is sent to it: pids are reused, and those of another machine mean
 * nothing here.
 */
export function checkProcess({ nodeId, host, pid, startedAt }: RegisteredProcess): void {
  if (host !== hostname()) {
    const where = oneLine(host);
    throw refused(`Node "${nodeId}" runs on ${where}, and this is ${hostname()}: run the drill on ${where}.`);
  }
  if (pid === process.pid) throw refused("The leader is this very process.");
  if (process.platform !== "linux") {
    send(pid, 0, nodeId);
    return;
  }
  const program = programOf(pid, nodeId);
  if (!/^node(js)?\b/.test(program)) {
    throw refused(`Process ${pid} is "${program}" and no Node.js, so it is not node "${nodeId}".`);
  }
  const born = bornAt(pid);
  if (startedAt !== null && born !== null && born > startedAt + clockSlackSeconds) {
    throw refused(`Process ${pid} is younger than node "${nodeId}": the pid was given to another process.`);
  }
}

/** Sends a signal; 0 only looks whether it could be sent. */
export function send(pid: number, signal: NodeJS.Signals | 0, nodeId: string): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EPERM")
      throw refused(`Process ${pid} of node "${nodeId}" belongs to another user: run this as that user.`);
    throw refused(`Process ${pid} of node "${nodeId}" is not there (${code}).`);
  }
}

function programOf(pid: number, nodeId: string): string {
  try {
    return oneLine(basename(readlinkSync(`/proc/${pid}/exe`)));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EACCES" || code === "EPERM") {
      throw refused(`Process ${pid} of node "${nodeId}" belongs to another user: run this as that user.`);
    }
    throw refused(`Process ${pid} of node "${nodeId}" is not there.`);
  }
}

/** When a process began, in seconds since 1970 by this machine's clock; null where /proc does not tell. */
function bornAt(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command's name is in parentheses and may hold anything; the fields that matter follow the last one.
    const ticks = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
    const [uptime = ""] = readFileSync("/proc/uptime", "utf8").split(" ");
    const born = Date.now() / 1000 - Number(uptime) + ticks / ticksPerSecond;
    return Number.isFinite(born) ? born : null;
  } catch {
    // It ended a moment ago; the signal will find out.
    return null;
  }
}

function refused(message: string): HoldfastError {
  return new HoldfastError("REFUSED", message);
}
