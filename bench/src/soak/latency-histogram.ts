/** Latencies in steps of 2 %, so that those of half an hour fit into some hundred numbers and can be put together again. */
const stepFactor = 1.02;
const leastMs = 0.01;

/** How many were in each step, by its number. */
export type LatencyCounts = ReadonlyMap<number, number>;

export class LatencyHistogram {
  private counts = new Map<number, number>();

  add(ms: number): void {
    const step = Math.ceil(Math.log(Math.max(ms, leastMs) / leastMs) / Math.log(stepFactor));
    this.counts.set(step, (this.counts.get(step) ?? 0) + 1);
  }

  /** What came since it was last taken. */
  take(): LatencyCounts {
    const { counts } = this;
    this.counts = new Map();
    return counts;
  }
}

/** Of all of them together, as the upper end of its step. NaN where nothing was measured. */
export function latencyPercentile(parts: readonly LatencyCounts[], share: number): number {
  const sums = new Map<number, number>();
  for (const part of parts) for (const [step, count] of part) sums.set(step, (sums.get(step) ?? 0) + count);
  const total = [...sums.values()].reduce((sum, count) => sum + count, 0);
  let left = Math.ceil(total * share);
  for (const [step, count] of [...sums].sort(([a], [b]) => a - b)) {
    left -= count;
    if (left <= 0) return leastMs * stepFactor ** step;
  }
  return Number.NaN;
}
