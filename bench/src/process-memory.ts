import { readdir, readFile } from "node:fs/promises";

/** What the kernel keeps of a process in memory. Null where the system does not tell, or the process is gone. */
export async function residentBytesOf(pid: number): Promise<number | null> {
  if (process.platform !== "linux") return null;
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
  return kilobytes === undefined ? null : Number(kilobytes) * 1024;
}

/** Its open files and sockets. Null where the system does not tell, or the process is gone. */
export async function descriptorsOf(pid: number): Promise<number | null> {
  if (process.platform !== "linux") return null;
  const entries = await readdir(`/proc/${pid}/fd`).catch(() => null);
  return entries?.length ?? null;
}
