import { cpus, freemem, hostname, loadavg, totalmem } from "node:os";
import { publicUrlOf } from "../config/serving.js";
import { loadOf } from "../membership/node-row.js";
import { version } from "../version.js";
import type { NodesAnswer } from "./cluster-answers.js";
import type { ServedNode } from "./served-node.js";

/**
 * `/cluster/nodes` outside of a cluster: this node alone, from memory. It has no heartbeats to tell of, and nobody whom it
 * could lose its lease to.
 */
export function showSingleNode(node: ServedNode, connections: number): NodesAnswer {
  const { cluster, api } = node.config;
  const usage = {
    cpuUsage: Math.min(1, (loadavg()[0] ?? 0) / Math.max(1, cpus().length)),
    memoryUsage: 1 - freemem() / totalmem(),
  };
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
        current_connections: connections,
        current_jobs: node.work.count,
        cpu_usage: usage.cpuUsage,
        memory_usage: usage.memoryUsage,
        load: loadOf(usage),
        promotable: cluster.promotable,
        config_version: node.configVersion,
      },
    ],
    leader_node_id: node.id,
    lease_owner: node.id,
    lease_expires_at: null,
  };
}
