import type { Bench } from "./bench.js";

/** In the order in which `all` runs them. */
export const benches: Readonly<Record<string, Bench>> = {
  gate: async (options) => (await import("./gate.js")).benchGate(options),
  footprint: async (options) => (await import("./footprint/footprint-bench.js")).benchFootprint(options),
  fence: async (options) => (await import("./fence.js")).benchFence(options),
  failover: async (options) => (await import("./failover.js")).benchFailover(options),
  scale: async (options) => (await import("./scale.js")).benchScale(options),
  queue: async (options) => (await import("./queue/queue-bench.js")).benchQueue(options),
  jobs: async (options) => (await import("./jobs/jobs-bench.js")).benchJobs(options),
  engine: async (options) => (await import("./engine/engine-bench.js")).benchEngine(options),
};
