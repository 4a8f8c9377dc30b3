import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";

/**
 * Pids are reused, so a pid alone names no process. The mark differs for every process that ever had the pid, over reboots
 * and container restarts too; undefined when no living process has it.
 */
export function processMark(pid: number): string | undefined {
  return process.platform === "linux" ? linuxMark(pid) : ps(pid, "lstart=");
}

/** Whether the living process with this pid is a PostgreSQL server on this directory: the server works inside it. */
export function servesDirectory(pid: number, pgdata: string): boolean {
  if (process.platform !== "linux") {
    // No portable way shows the directory; any server counts, so that a live one is never taken for a stale one.
    return ps(pid, "comm=")?.includes("postgres") ?? false;
  }
  const works = statSync(`/proc/${pid}/cwd`, { throwIfNoEntry: false });
  const directory = statSync(pgdata, { throwIfNoEntry: false });
  return works !== undefined && directory !== undefined && works.dev === directory.dev && works.ino === directory.ino;
}

function linuxMark(pid: number): string | undefined {
  const stat = readIfThere(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The command's name is in parentheses and may hold anything; the fields that matter follow the last one.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state] = fields;
  const startTicks = fields[19];
  if (state === "Z" || state === "X") return undefined;
  const boot = readIfThere("/proc/sys/kernel/random/boot_id") ?? "";
  return `${boot.trim()}/${startTicks}`;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The process ended between the look and the read, or the kernel hides it: either way it is not there for us.
    return undefined;
  }
}

function ps(pid: number, column: string): string | undefined {
  try {
    return execFileSync("ps", ["-o", column, "-p", String(pid)], { encoding: "utf8" }).trim() || undefined;
  } catch {
    // ps ends with 1 where there is no such process.
    return undefined;
  }
}
