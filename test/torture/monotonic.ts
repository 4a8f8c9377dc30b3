/** CLOCK_MONOTONIC in milliseconds: the one clock of a history. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
