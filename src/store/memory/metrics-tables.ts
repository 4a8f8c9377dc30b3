import type { MetricsPoint, ProcessCounters } from "../metrics-contract.js";

/** What is kept of the metrics of a cluster in memory. */
export class MemoryMetricsTables {
  readonly processes = new Map<string, Omit<ProcessCounters, "ageMs"> & { readonly takenAt: number }>();
  points: readonly MetricsPoint[] = [];
}
