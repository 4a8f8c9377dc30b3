import type { Random } from "../simulation/random.js";
import type { HistoryEvent } from "./history.js";

/** Where a node is reached, as the orchestrator placed it. It stays the same when the process in this place is replaced. */
export interface Place {
  /** "a", "b", "c" ... */
  readonly name: string;
  /** What the HTTP API of the node there is reached at. */
  readonly url: string;
  /** What its MLLP inbounds are reached at. */
  readonly host: string;
}

/** What a workload is given: it reaches the nodes from outside, through the same network that the faults act on. */
export interface Scene {
  readonly places: readonly Place[];
  /** A way to the database that no fault touches, but for its own restarts and failovers: for set-up and for what is read in the end. */
  readonly directUrl: () => string;
  readonly random: Random;
  readonly log: (event: HistoryEvent) => void;
  /** Ends when the load shall end. */
  readonly signal: AbortSignal;
}

/** A load on the cluster that tells all it did, and all it was told. */
export interface Workload {
  readonly name: string;
  /** Before the first fault: tables, receivers, connections. */
  prepare(scene: Scene): Promise<void>;
  /** Runs until the signal ends, and never throws for what a fault did: that is an outcome. */
  run(scene: Scene): Promise<void>;
  /** After the last fault, with everything whole again: resolves when all that was taken in has been worked off, and tells the final state. */
  settle(scene: Scene): Promise<void>;
}
