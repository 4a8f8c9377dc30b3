import type { Incarnation, NodeId } from "../election/core/names.js";
import type { FenceToken } from "./fence-token.js";

/**
 * What is kept of the metrics of the whole cluster. The leader of `metrics_aggregator` alone writes here, under its fence (R8);
 * anybody reads. Texts are in Prometheus' format.
 */
export interface MetricsBook {
  /** The last copy of every process, also of those that are gone and have not been taken in yet. */
  copies(): Promise<readonly ProcessCopy[]>;
  /** What each process had counted when it was last taken in. */
  processes(): Promise<readonly ProcessCounters[]>;
  /** One round, all of it or nothing. */
  keep(fence: FenceToken, round: MetricsRound): Promise<void>;
  /** The newest totals, and what one process has to do with them, of one moment; null before the first round. */
  totals(process?: Incarnation): Promise<MetricsTotals | null>;
  /** The points of so long, oldest first. */
  points(withinMs: number): Promise<readonly MetricsPoint[]>;
}

export interface MetricsTotals {
  /** Milliseconds since 1970, by the database's clock. */
  readonly at: number;
  readonly ageMs: number;
  readonly text: string;
  /** What the process that was asked for had counted, as far as it is in the totals; empty where it was not taken in yet. */
  readonly ofProcess: string;
}

export interface ProcessCopy {
  readonly nodeId: NodeId;
  readonly incarnation: Incarnation;
  readonly ageMs: number;
  readonly text: string;
  /** Its node is dead, has left, or is another process by now. */
  readonly isGone: boolean;
}

export interface ProcessCounters {
  /** Empty for those that were put together, long after their end. */
  readonly incarnation: string;
  readonly nodeId: string;
  /** How long ago it was last taken in. */
  readonly ageMs: number;
  readonly text: string;
}

export interface MetricsRound {
  /** Counters as they are now. */
  readonly processes: readonly Omit<ProcessCounters, "ageMs">[];
  /** Processes whose counters are among those of others from now on. */
  readonly retired: readonly string[];
  /** Processes whose copy is not needed any more. */
  readonly takenIn: readonly string[];
  readonly totals: string;
  /** The series of the living nodes, each with its label `node`. */
  readonly nodes: string;
  /** Older points go. */
  readonly pointsKeptMs: number;
}

export interface MetricsPoint {
  /** Milliseconds since 1970, by the database's clock. */
  readonly at: number;
  readonly totals: string;
  readonly nodes: string;
}
