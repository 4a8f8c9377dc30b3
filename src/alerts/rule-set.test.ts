import { describe, expect, it } from "vitest";
import { type ConfigOptions, resolveConfig } from "../config/config.js";
import { ruleSetOf } from "./rule-set.js";

const rulesOf = (options: ConfigOptions) => ruleSetOf(resolveConfig(options, true)).rules;

describe("the rules of a node", () => {
  it("are those that come with Holdfast, which tell the log and whom alerting.notify names", () => {
    const rules = rulesOf({ alerting: { notify: ["slack:#ops", "log"] } });
    expect(rules.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["no_scheduler_leader", "frequent_failovers", "node_dead", "lane_stuck"]),
    );
    expect(rules.every(({ origin }) => origin === "default")).toBe(true);
    expect(rules[0]?.targets).toEqual(["log", "slack:#ops"]);
  });

  it("are measured by the prefix and the timings of the cluster", () => {
    const rules = rulesOf({ metrics: { prefix: "app_" }, cluster: { heartbeatSeconds: 0.5 } });
    expect(rules.find(({ name }) => name === "no_scheduler_leader")?.condition).toContain("app_leader_is_leader");
    expect(rules.find(({ name }) => name === "late_heartbeats")?.condition).toContain("> 1.25");
  });

  it("of the settings replace those of the same name, or turn them off", () => {
    const alerts = [
      {
        name: "no_scheduler_leader",
        condition: "up == 0",
        for: "2m",
        severity: "info" as const,
        notify: ["pagerduty"],
      },
      { name: "node_dead", enabled: false },
      { name: "mine", condition: "rate(hits[10m]) > 1" },
    ];
    const rules = rulesOf({ alerting: { notify: ["slack"] }, alerts });
    const named = (name: string) => rules.filter((rule) => rule.name === name);
    expect(named("no_scheduler_leader")).toMatchObject([
      { condition: "up == 0", forMs: 120_000, severity: "info", origin: "settings", targets: ["log", "pagerduty"] },
    ]);
    expect(named("node_dead")).toEqual([]);
    expect(named("mine")).toMatchObject([{ forMs: 0, severity: "warning", targets: ["log"] }]);
  });

  it("are those of the settings alone where the others are off, and are looked back for as long as they ask", () => {
    const alerts = [{ name: "mine", condition: "rate(hits[10m]) > 1" }];
    const { rules, backMs } = ruleSetOf(resolveConfig({ alerting: { defaults: false }, alerts }, true));
    expect(rules.map(({ name }) => name)).toEqual(["mine"]);
    expect(backMs).toBe(600_000);
  });
});
