/** CLOCK_MONOTONIC in milliseconds: one clock for all processes of a machine, which faketime leaves alone. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}
