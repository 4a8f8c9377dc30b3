import Type, { type Static } from "typebox";
import { type ClusterInfo, type ClusterView, leaderAmong, type RoleLease } from "../membership/cluster-view.js";
import type { NodeRequest } from "../membership/node-request.js";
import { loadOf, type NodeRow } from "../membership/node-row.js";
import { epoch, exactly, nullable, secondsOf, secondsOrNull, time } from "./fields.js";

/** What the cluster looks like from outside: the schemas of the answers, and how our own data become them. */

export const statusSchema = exactly({
  node_id: Type.String(),
  clustered: Type.Boolean(),
  is_leader: Type.Boolean({ description: "Its gate for the primary role is open, also while it drains" }),
  role: Type.Enum(["primary", "standby", "single-node"]),
  config_version: Type.Integer(),
});

export type StatusAnswer = Static<typeof statusSchema>;

const share = Type.Number({ minimum: 0, maximum: 1, description: "Of the machine" });

export const nodeSchema = exactly({
  node_id: Type.String(),
  host: Type.String(),
  pid: Type.Integer(),
  status: Type.Enum(["joining", "active", "draining", "dead", "left"]),
  started_at: nullable(time),
  last_seen: nullable(time),
  is_leader: Type.Boolean({ description: "Of the primary role" }),
  ip_address: nullable(Type.String()),
  http_port: nullable(Type.Integer()),
  url: nullable(Type.String()),
  roles: Type.Array(Type.String()),
  worker_capabilities: Type.Array(Type.String()),
  version: Type.String(),
  current_connections: Type.Integer(),
  current_jobs: Type.Integer(),
  cpu_usage: share,
  memory_usage: share,
  load: share,
  promotable: Type.Boolean(),
  config_version: Type.Integer(),
});

export const nodesSchema = exactly({
  nodes: Type.Array(nodeSchema),
  leader_node_id: nullable(Type.String({ description: "The one leader of the primary role that is alive" })),
  lease_owner: nullable(Type.String()),
  lease_expires_at: nullable(time),
});

export type NodeAnswer = Static<typeof nodeSchema>;
export type NodesAnswer = Static<typeof nodesSchema>;

export function showNodes(nodes: readonly NodeRow[], lease: RoleLease | undefined): NodesAnswer {
  const owner = lease?.nodeId ?? null;
  const leader = leaderAmong(nodes, lease);
  return {
    nodes: nodes.map((node) => showNode(node, node === leader)),
    leader_node_id: leader?.nodeId ?? null,
    lease_owner: owner,
    lease_expires_at: owner === null ? null : secondsOrNull(lease?.expiresAt ?? null),
  };
}

function showNode(node: NodeRow, isLeader: boolean): NodeAnswer {
  return {
    node_id: node.nodeId,
    host: node.hostname,
    pid: node.pid,
    status: node.status,
    started_at: secondsOf(node.startedAt),
    last_seen: secondsOf(node.lastHeartbeat),
    is_leader: isLeader,
    ip_address: node.ipAddress,
    http_port: node.httpPort,
    url: node.url,
    roles: [...node.roles],
    worker_capabilities: [...node.workerCapabilities],
    version: node.version,
    current_connections: node.currentConnections,
    current_jobs: node.currentJobs,
    cpu_usage: node.cpuUsage,
    memory_usage: node.memoryUsage,
    load: loadOf(node),
    promotable: node.promotable,
    config_version: node.configVersion,
  };
}

export const infoSchema = exactly({
  name: Type.String(),
  total_nodes: Type.Integer({ description: "Without those that left" }),
  active_nodes: Type.Integer(),
  draining_nodes: Type.Integer(),
  dead_nodes: Type.Integer(),
  joining_nodes: Type.Integer(),
  leaders: Type.Record(Type.String(), Type.String(), { description: "The node that leads each role" }),
});

export type InfoAnswer = Static<typeof infoSchema>;

export function showInfo(info: ClusterInfo): InfoAnswer {
  return {
    name: info.name,
    total_nodes: info.totalNodes,
    active_nodes: info.activeNodes,
    draining_nodes: info.drainingNodes,
    dead_nodes: info.deadNodes,
    joining_nodes: info.joiningNodes,
    leaders: { ...info.leaders },
  };
}

export const leaderSchema = exactly({
  role: Type.String(),
  leader_id: nullable(Type.String()),
  leader_url: nullable(Type.String()),
  leader_epoch: epoch,
  acquired_at: nullable(time),
  lease_expires_at: nullable(time),
  lease_remaining_seconds: Type.Number({ minimum: 0 }),
  tenure_seconds: nullable(Type.Number({ minimum: 0 })),
});

export type LeaderAnswer = Static<typeof leaderSchema>;

/** A lease that has run out names nobody: its holder may be alive, but leads no more. */
export function showLeader(lease: RoleLease): LeaderAnswer {
  const leads = lease.nodeId !== null && lease.remainingMs > 0;
  return {
    role: lease.role,
    leader_id: leads ? lease.nodeId : null,
    leader_url: leads ? lease.url : null,
    leader_epoch: Number(lease.epoch),
    acquired_at: leads ? secondsOrNull(lease.acquiredAt) : null,
    lease_expires_at: leads ? secondsOf(lease.expiresAt) : null,
    lease_remaining_seconds: leads ? secondsOf(lease.remainingMs) : 0,
    tenure_seconds: leads ? secondsOrNull(lease.tenureMs) : null,
  };
}

export const transitionSchema = exactly({
  id: Type.String(),
  role: Type.String(),
  epoch,
  event: Type.Enum(["elected", "released", "quarantined", "advanced"]),
  reason: Type.String(),
  node_id: nullable(Type.String()),
  previous_node_id: nullable(Type.String()),
  gap_seconds: nullable(
    Type.Number({ description: "How long the role had no leader, as far as the database can tell" }),
  ),
  at: time,
});

export type TransitionAnswer = Static<typeof transitionSchema>;

type Transition = Awaited<ReturnType<ClusterView["history"]>>[number];

export function showTransition(transition: Transition): TransitionAnswer {
  return {
    id: transition.id,
    role: transition.role,
    epoch: Number(transition.epoch),
    event: transition.event,
    reason: transition.reason,
    node_id: transition.nodeId,
    previous_node_id: transition.previousNodeId,
    gap_seconds: secondsOrNull(transition.gapMs),
    at: secondsOf(transition.at),
  };
}

export const requestSchema = exactly({
  request_id: Type.String(),
  kind: Type.Enum(["drain", "resume", "step_down"]),
  node_id: Type.String({ description: "Who was asked" }),
  role: nullable(Type.String()),
  to: nullable(Type.String()),
  requested_by: Type.String(),
  requested_at: time,
  acted_at: nullable(Type.Number({ description: "When the node acted; null while it has not" })),
});

export type RequestAnswer = Static<typeof requestSchema>;

export function showRequest(request: NodeRequest): RequestAnswer {
  return {
    request_id: request.id,
    kind: request.kind,
    node_id: request.nodeId,
    role: request.role,
    to: request.to,
    requested_by: request.requestedBy,
    requested_at: secondsOf(request.requestedAt),
    acted_at: secondsOrNull(request.actedAt),
  };
}
