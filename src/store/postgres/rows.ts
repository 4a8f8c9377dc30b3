import { epochOf, type Incarnation, type NodeId, type Role } from "../../election/core/names.js";
import { type NodeReport, type NodeRow, parseNodeStatus } from "../../membership/node-row.js";
import type { Transition } from "../contract.js";

/** How rows of the registry and of the history read in TypeScript. */

export function toRegistryJson(report: NodeReport): Record<string, unknown> {
  const { nodeId, ...rest } = report;
  return { node_id: nodeId, ...rest };
}

export interface NodeJson {
  node_id: string;
  incarnation: string;
  clustered: boolean;
  status: string;
  hostname: string;
  pid: number;
  url: string | null;
  version: string;
  roles: string[];
  promotable: boolean;
  started_at: number;
  last_heartbeat: number;
  heartbeat_age_ms: number;
}

export function readNode(json: NodeJson): NodeRow {
  const { node_id, incarnation, status, started_at, last_heartbeat, heartbeat_age_ms, ...rest } = json;
  return {
    ...rest,
    nodeId: node_id as NodeId,
    incarnation: incarnation as Incarnation,
    status: parseNodeStatus(status),
    startedAt: started_at,
    lastHeartbeat: last_heartbeat,
    heartbeatAgeMs: heartbeat_age_ms,
  };
}

export interface TransitionJson {
  role: string;
  epoch: string;
  event: Transition["event"];
  reason: string;
  node_id: string | null;
  previous_node_id: string | null;
  gap_ms: number | null;
  at: number;
}

export function readTransition(json: TransitionJson): Transition {
  return {
    role: json.role as Role,
    epoch: epochOf(json.epoch),
    event: json.event,
    reason: json.reason,
    nodeId: json.node_id as NodeId | null,
    previousNodeId: json.previous_node_id as NodeId | null,
    gapMs: json.gap_ms,
    at: json.at,
  };
}
