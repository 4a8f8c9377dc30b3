import { describe, expect, it } from "vitest";
import { metricCatalogue } from "../../telemetry/metric-catalogue.js";
import { parseExpression } from "../promql/parse-condition.js";
import { grafanaDashboard } from "./grafana-dashboard.js";

describe("the dashboard for Grafana", () => {
  const metrics = metricCatalogue("my_");
  const { panels } = grafanaDashboard(metrics, "my_");
  const charts = panels.filter(({ type }) => type === "timeseries");
  const asked = charts.flatMap(({ targets }) => targets ?? []).map(({ expr }) => expr);

  it("has one panel for each metric", () => {
    expect(charts).toHaveLength(metrics.length);
    const named = charts.map(
      ({ targets }) => /my_\w+/.exec(targets?.[0]?.expr ?? "")?.[0]?.replace(/_bucket$/, "") ?? "",
    );
    expect(named.toSorted()).toEqual(metrics.map(({ name }) => name).toSorted());
    expect(panels.filter(({ type }) => type === "row").map(({ title }) => title)).toContain("Leadership");
  });

  it("shows rates of counters, quantiles of histograms, and gauges as they are", () => {
    expect(asked).toContain("sum by (role, reason) (rate(my_leader_lost_total[$__rate_interval]))");
    expect(asked).toContain(
      "histogram_quantile(0.99, sum by (le, role) (rate(my_leader_failover_seconds_bucket[$__rate_interval])))",
    );
    expect(asked).toContain("my_leader_is_leader");
    expect(asked).toContain("sum (rate(my_jobs_total[$__rate_interval]))");
  });

  it("asks for nothing that is not PromQL", () => {
    const readable = asked.filter(
      (expr) => parseExpression(expr.replaceAll("$__rate_interval", "5m")).kind === "parsed",
    );
    expect(readable).toEqual(asked);
    expect(asked.length).toBeGreaterThan(metrics.length);
  });

  it("lays panels beside each other, and none over another", () => {
    const taken = new Set<string>();
    for (const { gridPos } of panels) {
      const { x, y, w, h } = gridPos as Record<"x" | "y" | "w" | "h", number>;
      expect(x + w).toBeLessThanOrEqual(24);
      for (let column = x; column < x + w; column += 1) {
        for (let row = y; row < y + h; row += 1) {
          expect(taken.has(`${column} ${row}`)).toBe(false);
          taken.add(`${column} ${row}`);
        }
      }
    }
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });
});
