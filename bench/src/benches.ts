import type { Result } from "./result.js";

export interface BenchOptions {
  /** For a quick trial: so many rounds of each kind at most. Null takes the numbers that the targets are meant for. */
  readonly rounds: number | null;
  /** What is going on, for whoever watches. */
  readonly progress: (text: string) => void;
}

export type Bench = (options: BenchOptions) => Promise<readonly Result[]>;

/** In the order in which `all` runs them. */
export const benches: Readonly<Record<string, Bench>> = {
  gate: async (options) => (await import("./gate.js")).benchGate(options),
  fence: async (options) => (await import("./fence.js")).benchFence(options),
  failover: async (options) => (await import("./failover.js")).benchFailover(options),
  scale: async (options) => (await import("./scale.js")).benchScale(options),
};

export function roundsOf(options: BenchOptions, usual: number): number {
  return Math.min(usual, options.rounds ?? usual);
}
