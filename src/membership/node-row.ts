import type { Incarnation, NodeId } from "../election/core/names.js";

export type NodeStatus = "joining" | "active" | "draining" | "dead" | "left";

const statuses: readonly string[] = ["joining", "active", "draining", "dead", "left"];

/** A status that this code does not know reads as dead: no work goes to a node that cannot be understood. */
export function parseNodeStatus(stored: string): NodeStatus {
  return statuses.includes(stored) ? (stored as NodeStatus) : "dead";
}

/** What a node says of itself with every beat. */
export interface NodeReport {
  readonly nodeId: NodeId;
  readonly incarnation: Incarnation;
  readonly status: NodeStatus;
  readonly hostname: string;
  readonly pid: number;
  readonly url: string | null;
  readonly version: string;
  readonly roles: readonly string[];
  readonly promotable: boolean;
  /** False outside a cluster: such a node tolerates no other. */
  readonly clustered: boolean;
}

/** A node as the registry knows it. Times are milliseconds since 1970 by the database's clock. */
export interface NodeRow extends NodeReport {
  readonly startedAt: number;
  readonly lastHeartbeat: number;
  readonly heartbeatAgeMs: number;
}
