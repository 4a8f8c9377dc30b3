import { Gauge, type Registry } from "prom-client";
import { type MemberCounts, nodeStatuses } from "../membership/node-row.js";

/** The metrics of membership (CONTRACT section 5): every status exists from the start. */
export class ClusterMetrics {
  private readonly registry: Registry;
  private readonly name: string;

  constructor(registry: Registry, prefix: string, read: () => MemberCounts) {
    this.registry = registry;
    this.name = `${prefix}cluster_nodes`;
    new Gauge({
      name: this.name,
      help: "Nodes of the cluster by status, as the last beat told this one.",
      labelNames: ["status"],
      registers: [registry],
      collect() {
        const counts = read();
        for (const status of nodeStatuses) this.set({ status }, counts[status]);
      },
    });
  }

  remove(): void {
    this.registry.removeSingleMetric(this.name);
  }
}
