import type { MetricsBook } from "../store/metrics-contract.js";
import { mergeMetrics, type NodeMetrics } from "./merged-metrics.js";

/** The series of the nodes, and below them the totals as the leader of `metrics_aggregator` last put them together. */
export async function clusterText(book: MetricsBook, prefix: string, nodes: readonly NodeMetrics[]): Promise<string> {
  const series = mergeMetrics(nodes);
  const totals = await book.totals();
  if (totals === null) return series;
  const name = `${prefix}cluster_metrics_age_seconds`;
  const age = [
    `# HELP ${name} How long ago the totals of the cluster were put together.`,
    `# TYPE ${name} gauge`,
    `${name} ${totals.ageMs / 1000}`,
    "",
  ].join("\n");
  return [series, totals.text, age].filter((text) => text !== "").join("\n");
}
