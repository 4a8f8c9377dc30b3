import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { Config } from "../config/config.js";
import type { Clock } from "../election/clock.js";
import type { LeaderTerm } from "../election/term.js";
import type { Store } from "../store/contract.js";
import { CompactionMetrics } from "../telemetry/compaction-metrics.js";
import { MetricsAggregator } from "./aggregator.js";
import { Compactor } from "./compactor.js";
import { aggregatorRole, compactorRole } from "./upkeep-roles.js";

interface UpkeepRole {
  lead(fn: (term: LeaderTerm<unknown>) => Promise<void>): unknown;
}

/**
 * What the cluster does for itself, each by the leader of a role of its own: forgetting what is old, and keeping the metrics of
 * all nodes. A node contends for both from when it opens the jobs: it is they that leave things behind.
 */
export class Upkeep {
  readonly metrics: CompactionMetrics;
  private readonly role: (name: string) => UpkeepRole;
  private readonly compactor: Compactor;
  private readonly aggregator: MetricsAggregator;
  private isOpen = false;

  constructor(parts: {
    readonly store: Store<unknown>;
    readonly config: Config;
    readonly clock: Clock;
    readonly log: Logger;
    readonly registry: Registry;
    readonly report: { readonly nodeId: string };
    readonly trouble: (what: string, error: unknown) => void;
    /** From the first call on, the node contends for it. */
    readonly role: (name: string) => UpkeepRole;
  }) {
    const { store, config, report, registry } = parts;
    const { prefix } = config.metrics;
    this.role = parts.role;
    this.metrics = new CompactionMetrics(registry, prefix);
    const { nodeId } = report;
    const { retention } = config;
    this.compactor = new Compactor({ ...parts, books: store, nodeId, retention, counts: this.metrics });
    this.aggregator = new MetricsAggregator({ ...parts, book: store.metrics, prefix });
  }

  /** Twice is once. */
  open(): void {
    if (this.isOpen) return;
    this.isOpen = true;
    this.role(compactorRole).lead(async (term) => await this.compactor.lead(term));
    this.role(aggregatorRole).lead(async (term) => await this.aggregator.lead(term));
  }
}
