import { readFileSync } from "node:fs";
import { join } from "node:path";

/** What the server wrote of itself in `postmaster.pid`. */
export interface PidFile {
  readonly pid: number;
  readonly port: number;
  /** "starting", "ready", "standby" (a replica that answers reads) or "stopping"; empty before the first of them. */
  readonly status: string;
}

export function readPidFile(pgdata: string): PidFile | undefined {
  let text: string;
  try {
    text = readFileSync(join(pgdata, "postmaster.pid"), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const lines = text.split("\n");
  const number = (line: number): number => Number.parseInt(lines[line] ?? "", 10);
  return { pid: number(0), port: number(3), status: (lines[7] ?? "").trim() };
}
