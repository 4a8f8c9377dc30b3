import { cpus, freemem, totalmem } from "node:os";

interface CpuTimes {
  readonly busy: number;
  readonly total: number;
}

/** How busy the machine is, between two readings. */
export class LoadMeter {
  private last = cpuTimes();

  /** The share of all processors that was busy since the last reading, from 0 to 1. */
  cpuUsage(): number {
    const now = cpuTimes();
    const total = now.total - this.last.total;
    const busy = now.busy - this.last.busy;
    this.last = now;
    return total <= 0 ? 0 : Math.min(1, Math.max(0, busy / total));
  }

  /** The share of the memory that this process may use which is in use, from 0 to 1: of the container's, where it has a limit. */
  memoryUsage(): number {
    const allowed = process.constrainedMemory();
    const limited = allowed > 0 && allowed < totalmem();
    const limit = limited ? allowed : totalmem();
    const free = limited ? process.availableMemory() : freemem();
    return Math.min(1, Math.max(0, 1 - free / limit));
  }
}

function cpuTimes(): CpuTimes {
  let busy = 0;
  let total = 0;
  for (const { times } of cpus()) {
    const used = times.user + times.nice + times.sys + times.irq;
    busy += used;
    total += used + times.idle;
  }
  return { busy, total };
}
