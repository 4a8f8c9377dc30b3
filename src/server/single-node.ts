import { hostname } from "node:os";
import { publicUrlOf } from "../config/serving.js";
import { loadOf } from "../membership/node-row.js";
import { version } from "../version.js";
import type { NodesAnswer } from "./cluster-answers.js";
import type { ServedNode } from "./served-node.js";

/**
 * `/cluster/nodes` outside of a cluster: this node alone, from memory. It has no heartbeats to tell of, and nobody whom it
 * could lose its lease to.
 */
export function showSingleNode(node: ServedNode): NodesAnswer {
  const { cluster, api } = node.config;
  const load = node.load();
  return {
    nodes: [
      {
        node_id: node.id,
        host: hostname(),
        pid: process.pid,
        status: node.readiness().draining ? "draining" : "active",
        started_at: null,
        last_seen: null,
        is_leader: true,
        ip_address: null,
        http_port: api.port === 0 ? null : api.port,
        url: api.publicUrl === "" && api.port === 0 ? null : publicUrlOf(node.config, hostname()),
        roles: [...cluster.roles],
        worker_capabilities: [...cluster.capabilities],
        version,
        current_connections: load.currentConnections,
        current_jobs: load.currentJobs,
        cpu_usage: load.cpuUsage,
        memory_usage: load.memoryUsage,
        load: loadOf(load),
        promotable: cluster.promotable,
        config_version: node.configVersion,
      },
    ],
    leader_node_id: node.id,
    lease_owner: node.id,
    lease_expires_at: null,
  };
}
