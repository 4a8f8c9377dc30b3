import { Counter, type Registry } from "prom-client";

/** What can be forgotten, as the label `what` says it. */
export const compacted = ["jobs", "events", "agents", "cron_ticks", "history", "audit", "demands"] as const;
export type Compacted = (typeof compacted)[number];

/** The metrics of compaction. Every series exists from the start. */
export class CompactionMetrics {
  private readonly registry: Registry;
  private readonly name: string;
  private readonly total: Counter<"what">;

  constructor(registry: Registry, prefix: string) {
    this.registry = registry;
    this.name = `${prefix}compacted_total`;
    this.total = new Counter({
      name: this.name,
      help: "What this node has forgotten because it was old, as leader of log_compactor.",
      labelNames: ["what"],
      registers: [registry],
    });
    for (const what of compacted) this.total.inc({ what }, 0);
  }

  count(what: Compacted, gone: number): void {
    this.total.inc({ what }, gone);
  }

  /** Takes our metrics out of a registry that may serve another node of the process later. */
  remove(): void {
    this.registry.removeSingleMetric(this.name);
  }
}
