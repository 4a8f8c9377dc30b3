import { readdir, readFile } from "node:fs/promises";

/** What the kernel counts processor time in, for whoever reads it: always hundredths of a second. */
const ticksPerSecond = 100;

interface ProcessTime {
  readonly parent: number;
  /** Spent by the process itself. */
  readonly own: number;
  /** Spent by children that have ended. */
  readonly ended: number;
}

/**
 * The processor time of a server since it started, in seconds: of its main process, of all that it has started, and of
 * those among them that have ended. Who takes a difference sees no time twice and misses none. Null where the system does not
 * tell: it is read from /proc.
 */
export async function cpuSecondsOf(postmaster: number): Promise<number | null> {
  if (process.platform !== "linux") return null;
  for (;;) {
    const before = await timeOf(postmaster);
    let ticks = 0;
    for (const pid of await processIds()) {
      const time = await timeOf(pid);
      if (time?.parent === postmaster) ticks += time.own + time.ended;
    }
    const after = await timeOf(postmaster);
    if (before === null || after === null) throw new Error(`the server (pid ${postmaster}) is gone`);
    // A session that ended meanwhile may stand in both sums, or in neither.
    if (before.ended === after.ended) return (ticks + after.own + after.ended) / ticksPerSecond;
  }
}

/** The processor time of one process since it started, in seconds, its children apart. Null where the system does not tell. */
export async function ownCpuSecondsOf(pid: number): Promise<number | null> {
  if (process.platform !== "linux") return null;
  const time = await timeOf(pid);
  return time === null ? null : time.own / ticksPerSecond;
}

async function processIds(): Promise<readonly number[]> {
  const names = await readdir("/proc");
  return names.map(Number).filter(Number.isInteger);
}

/** Null where the process has ended. */
async function timeOf(pid: number): Promise<ProcessTime | null> {
  let stat: string;
  try {
    stat = await readFile(`/proc/${pid}/stat`, "utf8");
  } catch {
    return null;
  }
  // The second field is the program's name in parentheses, and may hold anything. The third is counted as 0 from there.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [parent = 0, user = 0, system = 0, endedUser = 0, endedSystem = 0] = [1, 11, 12, 13, 14].map((at) =>
    Number(fields[at]),
  );
  return { parent, own: user + system, ended: endedUser + endedSystem };
}
