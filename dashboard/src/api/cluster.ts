/** The cluster as the API tells it. Times are seconds of the epoch, by the database's clock. */

export type NodeStatus = "joining" | "active" | "draining" | "dead" | "left";

export interface ClusterNode {
  readonly node_id: string;
  readonly host: string;
  readonly pid: number;
  readonly status: NodeStatus;
  readonly started_at: number | null;
  readonly last_seen: number | null;
  readonly is_leader: boolean;
  readonly url: string | null;
  readonly roles: readonly string[];
  readonly worker_capabilities: readonly string[];
  readonly version: string;
  readonly current_connections: number;
  readonly current_jobs: number;
  readonly cpu_usage: number;
  readonly memory_usage: number;
  readonly load: number;
  readonly promotable: boolean;
  readonly config_version: number;
}

export interface ClusterNodes {
  readonly nodes: readonly ClusterNode[];
  readonly leader_node_id: string | null;
  readonly lease_owner: string | null;
  readonly lease_expires_at: number | null;
}

export interface RoleLeader {
  readonly role: string;
  readonly leader_id: string | null;
  readonly leader_url: string | null;
  readonly leader_epoch: number;
  readonly acquired_at: number | null;
  readonly lease_expires_at: number | null;
  readonly lease_remaining_seconds: number;
  readonly tenure_seconds: number | null;
}

export interface Transition {
  readonly id: string;
  readonly role: string;
  readonly epoch: number;
  readonly event: "elected" | "released" | "quarantined" | "advanced";
  readonly reason: string;
  readonly node_id: string | null;
  readonly previous_node_id: string | null;
  readonly gap_seconds: number | null;
  readonly at: number;
}

/** What one node was asked to do; `acted_at` is null while it has not. */
export interface NodeRequest {
  readonly request_id: string;
  readonly kind: "drain" | "resume" | "step_down";
  readonly node_id: string;
  readonly acted_at: number | null;
}
