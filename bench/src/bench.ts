import type { Result } from "./result.js";

export interface BenchOptions {
  /** For a quick trial: so many rounds of each kind at most. Null takes the numbers that the targets are meant for. */
  readonly rounds: number | null;
  /** For a quick trial, where a bench sends messages: so many of them. */
  readonly messages: number | null;
  /** What is going on, for whoever watches. */
  readonly progress: (text: string) => void;
}

export type Bench = (options: BenchOptions) => Promise<readonly Result[]>;

export function roundsOf(options: BenchOptions, usual: number): number {
  return Math.min(usual, options.rounds ?? usual);
}
