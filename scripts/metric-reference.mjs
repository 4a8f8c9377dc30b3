/** Renders docs/reference/metrics.md from the metrics as they register themselves; scripts/reference.mjs writes it. */

export function renderMetrics({ metricCatalogue, lossReasons }, { note, table }) {
  const metrics = metricCatalogue("holdfast_");
  const code = (text) => `\`${text}\``;
  const rows = metrics.map(({ name, kind, labels, help }) => [code(name), kind, labels.map(code).join(", "), help]);
  const timed = metrics.filter((metric) => metric.buckets.length > 0);
  const buckets = [...new Set(timed.map((metric) => metric.buckets.join(", ")))].map((bounds) => {
    const names = timed.filter((metric) => metric.buckets.join(", ") === bounds).map(({ name }) => code(name));
    return `- Buckets of ${names.join(", ")}, in seconds: ${bounds}.`;
  });
  return `${note}

# Metrics

In the registry that \`createNode\` is given, or in \`node.registry\`. The prefix is the setting \`metrics.prefix\`. Every series of a
role exists at 0 from \`node.role(name)\` on, and of a queue from \`createQueue\` on: its leader says what is, the others say 0. Those
of a connection are there while it is in the configuration that the node runs, and those of HTTP while a server is.

${table(["name", "kind", "labels", "meaning"], rows)}

- \`reason\` is one of ${lossReasons.map(code).join(", ")}.
${buckets.join("\n")}

## The whole cluster

\`GET /metrics/cluster\` answers with the series of every living node, each with its label \`node\`. Each node leaves a copy of its
own every 15 s, and when it gains or loses a role.

Below them are the totals. Every counter and every histogram \`holdfast_x\` of the nodes is there once more as
\`holdfast_cluster_x\`, without the label \`node\`; a counter of yours in the same registry, \`y\`, as \`holdfast_cluster_y\`. The leader of
the role \`metrics_aggregator\` puts them together every 15 s, by one rule: **a total is the sum, over every process that was ever
seen, of the highest value in its copies.** So it never goes down: what a node counted that has died, has left or was
restarted stays in it, and so it does when the role changes hands. What a process counted after its last copy is lost with
it. A process that is not seen for 7 days is taken to be gone for good; if it came back, it would count twice. A counter that is
reset in a running process counts on when it is higher than before.

\`holdfast_cluster_metrics_age_seconds\` (a gauge) tells how long ago that was. The totals, and the series of the nodes, are kept as a
point every 15 s for two hours (\`holdfast.metric_points\`), so that an increase can be told of each of them. Nodes contend for
\`metrics_aggregator\` from when they open the jobs: \`holdfast serve\` with the role \`scheduler\`, or \`createJobs\`. Where none does, there
are no totals.
`;
}
