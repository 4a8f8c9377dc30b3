import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { Access } from "../access/access.js";
import type { AlertRoom } from "../alerts/alert-room.js";
import type { Config } from "../config/config.js";
import type { EngineRoom } from "../engine/engine-room.js";
import type { Crons } from "../jobs/crons.js";
import type { Jobs } from "../jobs/jobs.js";
import type { FunctionCalls } from "../jobs/worker/function-calls.js";
import type { InFlightWork } from "../lifecycle/in-flight.js";
import type { ClusterView } from "../membership/cluster-view.js";
import type { NodeLoad } from "../membership/node-row.js";
import type { Posture, Readiness } from "../membership/posture.js";
import type { Queues } from "../queue/queues.js";

/** What the HTTP server sees of a node. A `HoldfastNode` is one. */
export interface ServedNode {
  readonly id: string;
  readonly config: Config;
  readonly log: Logger;
  readonly registry: Registry;
  readonly work: InFlightWork;
  readonly access: Access;
  readonly cluster: ClusterView;
  readonly queues: Pick<Queues, "view" | "pause" | "resume" | "skip" | "redrive">;
  readonly jobs: Jobs;
  readonly functions: Pick<FunctionCalls, "call">;
  readonly crons: Pick<Crons, "list" | "history" | "trigger" | "pause" | "resume">;
  readonly engine: Pick<
    EngineRoom,
    "book" | "engine" | "convergence" | "replaying" | "connections" | "counted" | "references" | "sharedVersion"
  >;
  readonly alerts: Pick<AlertRoom, "list" | "watched" | "act" | "test">;
  /** The version of the shared configuration that this node runs; 0 outside a cluster. From memory. */
  readonly configVersion: number;
  /** Where this node stands for a role (the primary one by default). From memory; throws UNKNOWN_ROLE. */
  posture(role?: string): Posture;
  /** From memory. */
  readiness(): Readiness;
  /** The metrics of every node as each of them last left them, with a label `node`, this node's being current. */
  clusterMetrics(): Promise<string>;
  /** Tells how many connections are open, for the node's load. */
  countConnections(read: () => number): void;
  /** How busy this node is, as of its last beat. From memory. */
  load(): NodeLoad;
}
