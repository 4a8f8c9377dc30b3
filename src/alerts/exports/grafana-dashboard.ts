import type { CatalogueMetric } from "../../telemetry/metric-catalogue.js";

/** What Grafana reads, as far as it is written here. */
export interface GrafanaDashboard {
  readonly title: string;
  readonly panels: readonly GrafanaPanel[];
  readonly [setting: string]: unknown;
}

export interface GrafanaPanel {
  readonly type: "row" | "timeseries";
  readonly title: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string; readonly refId: string }[];
  readonly [setting: string]: unknown;
}

const source = { type: "prometheus", uid: "$datasource" };
const panelWidth = 8;
const panelHeight = 8;
const panelsBeside = 3;

/** The rooms, by how the names of their metrics begin after the prefix. What begins with nothing of it is the process's. */
const rooms: readonly (readonly [title: string, begins: RegExp])[] = [
  ["Leadership", /^(leader|gate|fence|stale_sessions)_/],
  ["Cluster", /^(cluster|compacted)_/],
  ["Alerts", /^alert/],
  ["Queues", /^queue_/],
  ["Jobs and crons", /^(jobs?|cron)(_|$)/],
  ["Engine", /^engine_/],
  ["HTTP and process", /^/],
];

/** A dashboard with a panel for every metric: rates of counters, quantiles of histograms, gauges as they are. */
export function grafanaDashboard(metrics: readonly CatalogueMetric[], prefix: string): GrafanaDashboard {
  const roomOf = ({ name }: CatalogueMetric): string =>
    rooms.find(([, begins]) => begins.test(name.slice(prefix.length)))?.[0] ?? "";
  const panels: GrafanaPanel[] = [];
  let top = 0;
  for (const [title] of rooms) {
    const shown = metrics.filter((metric) => roomOf(metric) === title);
    if (shown.length === 0) continue;
    panels.push({ ...placed(panels.length, { x: 0, y: top, w: 24, h: 1 }), type: "row", title, collapsed: false });
    top += 1;
    for (const [index, metric] of shown.entries()) {
      const place = { x: (index % panelsBeside) * panelWidth, y: top + Math.floor(index / panelsBeside) * panelHeight };
      panels.push({
        ...placed(panels.length, { ...place, w: panelWidth, h: panelHeight }),
        ...panelOf(metric, prefix),
      });
    }
    top += Math.ceil(shown.length / panelsBeside) * panelHeight;
  }
  return { ...frame(prefix), title: "Holdfast", panels };
}

const placed = (before: number, gridPos: Readonly<Record<string, number>>): Readonly<Record<string, unknown>> => ({
  id: before + 1,
  gridPos,
});

function panelOf(metric: CatalogueMetric, prefix: string): GrafanaPanel {
  const words = metric.name
    .slice(prefix.length)
    .replace(/_total$/, "")
    .replace(/_seconds$/, "")
    .replaceAll("_", " ");
  const title = `${words.charAt(0).toUpperCase()}${words.slice(1)}${metric.kind === "counter" ? ", per second" : ""}`;
  return {
    type: "timeseries",
    title,
    description: metric.help,
    datasource: source,
    fieldConfig: {
      defaults: { unit: unitOf(metric), min: 0, custom: { fillOpacity: 10, showPoints: "never" } },
      overrides: [],
    },
    options: { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi", sort: "desc" } },
    targets: targetsOf(metric).map((target, index) => ({ ...target, datasource: source, refId: "ABC".charAt(index) })),
  };
}

function unitOf({ name, kind }: CatalogueMetric): string {
  // Seconds a second are a share of the time.
  if (kind === "counter") return name.endsWith("_seconds_total") ? "percentunit" : "ops";
  return name.endsWith("_seconds") ? "s" : "short";
}

function targetsOf({
  name,
  kind,
  labels,
}: CatalogueMetric): readonly { readonly expr: string; readonly legendFormat: string }[] {
  const legend = labels.map((label) => `{{${label}}}`).join(" ");
  const by = (names: readonly string[]): string => (names.length === 0 ? "" : ` by (${names.join(", ")})`);
  switch (kind) {
    case "counter":
      return [
        {
          expr: `sum${by(labels)} (rate(${name}[$__rate_interval]))`,
          legendFormat: legend === "" ? "all nodes" : legend,
        },
      ];
    case "histogram":
      return ["0.5", "0.9", "0.99"].map((quantile) => ({
        expr: `histogram_quantile(${quantile}, sum${by(["le", ...labels])} (rate(${name}_bucket[$__rate_interval])))`,
        legendFormat: `${legend} p${Number(quantile) * 100}`.trim(),
      }));
    case "gauge":
      return [{ expr: name, legendFormat: `{{node}} ${legend}`.trim() }];
  }
}

/** All that is not a panel: where the data comes from, how much of it, and marks where leaders failed. */
function frame(prefix: string): Readonly<Record<string, unknown>> {
  return {
    uid: "holdfast",
    tags: ["holdfast"],
    schemaVersion: 39,
    version: 1,
    editable: true,
    refresh: "10s",
    time: { from: "now-1h", to: "now" },
    timezone: "browser",
    templating: {
      list: [{ name: "datasource", label: "Prometheus", type: "datasource", query: "prometheus", hide: 0 }],
    },
    annotations: {
      list: [
        {
          name: "Failovers",
          datasource: source,
          enable: true,
          iconColor: "red",
          expr: `sum by (role) (increase(${prefix}leader_failovers_total[$__rate_interval])) > 0`,
          titleFormat: "Failover of {{role}}",
        },
      ],
    },
  };
}
