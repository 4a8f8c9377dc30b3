import { Registry } from "prom-client";
import { AlertMetrics } from "./alert-metrics.js";
import { ClusterMetrics } from "./cluster-metrics.js";
import { CompactionMetrics } from "./compaction-metrics.js";
import { CronMetrics } from "./cron-metrics.js";
import { EngineMetrics } from "./engine-metrics.js";
import { HttpMetrics } from "./http-metrics.js";
import { JobMetrics } from "./job-metrics.js";
import { ElectionMetrics } from "./metrics.js";
import { QueueMetrics } from "./queue-metrics.js";

/** A metric that a node may have, as it registers itself. */
export interface CatalogueMetric {
  readonly name: string;
  readonly kind: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  readonly help: string;
  /** In seconds; none of what is no histogram. */
  readonly buckets: readonly number[];
}

/** What a registry holds of a metric; prom-client's own types leave out its labels, and its `type` is a text. */
interface RegisteredMetric {
  readonly name: string;
  readonly type: CatalogueMetric["kind"];
  readonly labelNames: readonly string[];
  readonly help: string;
  readonly upperBounds?: readonly number[];
}

/** Every metric there is, in the order of the rooms. Nothing is read of them, so nothing has to be there. */
export function metricCatalogue(prefix: string): readonly CatalogueMetric[] {
  const registry = new Registry();
  new ElectionMetrics(registry, prefix);
  new ClusterMetrics(registry, prefix, () => ({ joining: 0, active: 0, draining: 0, dead: 0, left: 0 }));
  new QueueMetrics(registry, prefix);
  new JobMetrics(registry, prefix, async () => await Promise.resolve({}));
  new CronMetrics(registry, prefix);
  new CompactionMetrics(registry, prefix);
  new EngineMetrics(registry, prefix);
  new AlertMetrics(registry, prefix, () => new Map());
  const http = new HttpMetrics(registry, prefix);
  const metrics = registry.getMetricsAsArray() as unknown as readonly RegisteredMetric[];
  // It watches the event loop.
  http.remove();
  return metrics.map(({ name, type, labelNames, help, upperBounds = [] }) => ({
    name,
    kind: type,
    labels: [...labelNames],
    help,
    buckets: [...upperBounds],
  }));
}
