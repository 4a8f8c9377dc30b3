import { epochOf, type Incarnation, type NodeId, type Role } from "../../election/core/names.js";
import { type NodeLoad, type NodeReport, type NodeRow, parseNodeStatus } from "../../membership/node-row.js";
import type { Transition } from "../contract.js";

/** How rows of the registry and of the history read in TypeScript. */

export function toRegistryJson(report: NodeReport): Record<string, unknown> {
  const { nodeId, ipAddress, httpPort, grpcPort, workerCapabilities, ...rest } = report;
  return {
    ...rest,
    node_id: nodeId,
    ip_address: ipAddress,
    http_port: httpPort,
    grpc_port: grpcPort,
    worker_capabilities: workerCapabilities,
  };
}

export function toLoadJson(load: NodeLoad): Record<string, number | string> {
  return {
    current_connections: load.currentConnections,
    current_jobs: load.currentJobs,
    cpu_usage: load.cpuUsage,
    memory_usage: load.memoryUsage,
    config_version: load.configVersion,
    // The names of roles hold no space.
    contends: load.contends.join(" "),
  };
}

export interface NodeJson {
  node_id: string;
  incarnation: string;
  clustered: boolean;
  status: string;
  hostname: string;
  pid: number;
  ip_address: string | null;
  http_port: number | null;
  grpc_port: number | null;
  url: string | null;
  version: string;
  roles: string[];
  worker_capabilities: string[];
  promotable: boolean;
  current_connections: number;
  current_jobs: number;
  cpu_usage: number;
  memory_usage: number;
  config_version: number;
  contends: string[];
  started_at: number;
  last_heartbeat: number;
  heartbeat_age_ms: number;
}

export function readNode(json: NodeJson): NodeRow {
  const { clustered, hostname, pid, url, version, roles, promotable } = json;
  return {
    clustered,
    hostname,
    pid,
    url,
    version,
    roles,
    promotable,
    nodeId: json.node_id as NodeId,
    incarnation: json.incarnation as Incarnation,
    status: parseNodeStatus(json.status),
    ipAddress: json.ip_address,
    httpPort: json.http_port,
    grpcPort: json.grpc_port,
    workerCapabilities: json.worker_capabilities,
    currentConnections: json.current_connections,
    currentJobs: json.current_jobs,
    cpuUsage: json.cpu_usage,
    memoryUsage: json.memory_usage,
    configVersion: json.config_version,
    contends: json.contends,
    startedAt: json.started_at,
    lastHeartbeat: json.last_heartbeat,
    heartbeatAgeMs: json.heartbeat_age_ms,
  };
}

export interface TransitionJson {
  id: string;
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
    id: json.id,
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
