import type { Incarnation, NodeId } from "../election/core/names.js";

/** joining -> active -> draining -> left; a node that is not heard of any more is dead, until it beats again. */
export type NodeStatus = "joining" | "active" | "draining" | "dead" | "left";

export const nodeStatuses: readonly NodeStatus[] = ["joining", "active", "draining", "dead", "left"];

/** A status that this code does not know reads as dead: no work goes to a node that cannot be understood. */
export function parseNodeStatus(stored: string): NodeStatus {
  return nodeStatuses.find((status) => status === stored) ?? "dead";
}

/** What a node says of itself when it joins. */
export interface NodeReport {
  readonly nodeId: NodeId;
  readonly incarnation: Incarnation;
  readonly status: NodeStatus;
  readonly hostname: string;
  readonly pid: number;
  readonly ipAddress: string | null;
  readonly httpPort: number | null;
  readonly grpcPort: number | null;
  readonly url: string | null;
  readonly version: string;
  readonly roles: readonly string[];
  readonly workerCapabilities: readonly string[];
  readonly promotable: boolean;
  /** False outside a cluster: such a node tolerates no other. */
  readonly clustered: boolean;
}

/** How busy a node is; told with every beat. Usages are shares of the machine, from 0 to 1. */
export interface NodeLoad {
  readonly currentConnections: number;
  readonly currentJobs: number;
  readonly cpuUsage: number;
  readonly memoryUsage: number;
  /** The version of the configuration that this node runs. */
  readonly configVersion: number;
  /** The roles that it would lead. */
  readonly contends: readonly string[];
}

export const noLoad: NodeLoad = {
  currentConnections: 0,
  currentJobs: 0,
  cpuUsage: 0,
  memoryUsage: 0,
  configVersion: 0,
  contends: [],
};

/** A node as the registry knows it. Times are milliseconds since 1970 by the database's clock. */
export interface NodeRow extends NodeReport, NodeLoad {
  readonly startedAt: number;
  readonly lastHeartbeat: number;
  readonly heartbeatAgeMs: number;
}

/** One figure to compare nodes by, from 0 to 1. */
export function loadOf(node: Pick<NodeLoad, "cpuUsage" | "memoryUsage">): number {
  return Math.min(1, Math.max(0, (node.cpuUsage + node.memoryUsage) / 2));
}

/**
 * What a node is now, whatever its row still says: whoever has not beaten for a node timeout is dead, joining and draining
 * nodes too. The age is the database's own, so no node's clock enters.
 */
export function statusNow(node: Pick<NodeRow, "status" | "heartbeatAgeMs">, nodeTimeoutMs: number): NodeStatus {
  return node.status !== "left" && node.heartbeatAgeMs > nodeTimeoutMs ? "dead" : node.status;
}

export type MemberCounts = Readonly<Record<NodeStatus, number>>;

export function countByStatus(nodes: readonly Pick<NodeRow, "status">[]): MemberCounts {
  const counts = { joining: 0, active: 0, draining: 0, dead: 0, left: 0 };
  for (const node of nodes) counts[node.status] += 1;
  return counts;
}
