import type { Random } from "../simulation/random.js";
import type { HistoryEvent } from "./history.js";
import type { NodeTask } from "./node-order.js";
import type { Place } from "./place.js";

/** What a workload is given: it reaches the nodes from outside, through the same network that the faults act on. */
export interface Scene {
  readonly places: readonly Place[];
  /** A way to the database that no fault touches, but for its own restarts and failovers: for set-up and for what is read in the end. */
  readonly directUrl: () => string;
  /** Of an administrator: off loopback a node serves nobody else. `openDatabase` of database-setup.ts makes it. */
  readonly token: string;
  /** Where the nodes reach what this process listens with: sinks and receivers. */
  readonly outsideHost: string;
  readonly random: Random;
  readonly log: (event: HistoryEvent) => void;
  /** Ends when the load shall end. */
  readonly signal: AbortSignal;
}

/** A load on the cluster that tells all it did, and all it was told. */
export interface Workload extends AsyncDisposable {
  readonly name: string;
  /** Before the first node starts, and before any fault: tables, receivers. What it answers is told to each node that is started. */
  prepare(scene: Scene): Promise<Partial<NodeTask>>;
  /** Runs until the signal ends, and never throws for what a fault did: that is an outcome. */
  run(scene: Scene): Promise<void>;
  /** After the last fault, with everything whole again: resolves when all that was taken in has been worked off, and tells the final state. */
  settle(scene: Scene): Promise<void>;
}
