import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { metricCatalogue } from "../../telemetry/metric-catalogue.js";
import { parseCondition } from "../promql/parse-condition.js";
import { defaultRules } from "./default-rules.js";
import { selectorsOf } from "./needed-series.js";
import { nameOf } from "./selector.js";
import { refusedSummary } from "./summary.js";

describe("the rules that are on by default", () => {
  const prefix = "my_";
  const rules = defaultRules(prefix);

  it("cover what an operator would want to be woken for", () => {
    expect(rules.map(({ name }) => name)).toEqual([
      "no_scheduler_leader",
      "no_leader",
      "frequent_failovers",
      "trust_margin_low",
      "late_heartbeats",
      "node_dead",
      "lane_stuck",
      "queue_age",
      "dead_letters",
    ]);
    expect(defaultRules("holdfast_").find(({ name }) => name === "frequent_failovers")?.condition).toBe(
      "round(sum(increase(holdfast_leader_failovers_total[5m]))) > 5",
    );
  });

  it.each(rules.map((rule) => [rule.name, rule] as const))(
    "%s can be read, and asks for metrics that exist",
    (_, rule) => {
      const parsed = parseCondition(rule.condition);
      if (parsed.kind === "refused") throw new Error(`${parsed.reason}\n${parsed.marked}`);
      const names = new Map(metricCatalogue(prefix).map(({ name, labels }) => [name, labels]));
      for (const { matchers } of selectorsOf(parsed.expression)) {
        const labels = names.get(nameOf(matchers) ?? "");
        expect(labels).toBeDefined();
        const asked = matchers.map(({ label }) => label).filter((label) => label !== "__name__");
        expect(asked.filter((label) => !labels?.includes(label))).toEqual([]);
      }
      expect(refusedSummary(rule.summary)).toBeNull();
    },
  );

  it("stand in the guide, each with its time and its severity", async () => {
    const guide = await readFile(new URL("../../../docs/guides/alerts.md", import.meta.url), "utf8");
    const rows = [...guide.matchAll(/^\| `(\w+)` +\| [^|]+\| (\w+) +\| (\w+) +\|$/gm)];
    expect(rows.map(([, ...cells]) => cells)).toEqual(rules.map((rule) => [rule.name, rule.for, rule.severity]));
  });

  it("are measured by the timings of the cluster", () => {
    const conditions = (heartbeatSeconds: number, fenceTimeoutSeconds: number): string =>
      defaultRules("", { heartbeatSeconds, fenceTimeoutSeconds })
        .map(({ condition }) => condition)
        .join("\n");
    expect(conditions(1, 3.5)).toContain("leader_heartbeat_age_seconds) > 2.5");
    expect(conditions(1, 3.5)).toContain("leader_trust_remaining_seconds < 1.15 ");
    expect(conditions(4, 14)).toContain("leader_heartbeat_age_seconds) > 10");
    expect(conditions(4, 14)).toContain("leader_trust_remaining_seconds < 4.6 ");
  });
});
