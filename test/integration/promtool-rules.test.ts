import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { type AlertState, advance } from "../../src/alerts/core/alert-state.js";
import { defaultRules } from "../../src/alerts/core/default-rules.js";
import { evaluate } from "../../src/alerts/core/evaluate.js";
import type { Expression } from "../../src/alerts/core/expression.js";
import { type Round, Samples } from "../../src/alerts/core/samples.js";
import { grafanaDashboard } from "../../src/alerts/exports/grafana-dashboard.js";
import { type ExportedRule, prometheusRules } from "../../src/alerts/exports/prometheus-rules.js";
import { parseCondition } from "../../src/alerts/promql/parse-condition.js";
import { parseDuration } from "../../src/config/duration.js";
import { metricCatalogue } from "../../src/telemetry/metric-catalogue.js";
import { isMissing } from "../support/programs.js";
import { promtool, seriesOf } from "../support/promtool.js";
import { badDay, stepMs } from "../support/rule-scene.js";

const prefix = "holdfast_";
const rules: readonly ExportedRule[] = defaultRules(prefix).map(({ for: lasts, ...rule }) => ({
  ...rule,
  forMs: parseDuration(lasts)?.ms ?? Number.NaN,
}));

const odd: ExportedRule = {
  name: "odd 'one': #",
  condition: `sum by (a) (up{a!~"it's|\\"so\\"",b=~\`\\d+\`}) > 0 # why`,
  forMs: 1_500,
  severity: "info",
  labels: { on: "{{ $value }}", quote: `"'"`, empty_looking: " " },
  summary: `{{ $value }} of {{ query "up" }}: it's "so" \\ 100 % {{ $labels.a }}`,
};

/** An alert that fires, as promtool is told to expect it. */
interface Firing {
  readonly exp_labels: Readonly<Record<string, string>>;
  readonly exp_annotations: Readonly<Record<string, string>>;
}

/** What fires after each round by our own account, by rule. */
function firingByRound(rule: ExportedRule, rounds: readonly Round[]): readonly (readonly Firing[])[] {
  const samples = new Samples(rounds);
  const expression = expressionOf(rule.condition);
  let states: readonly AlertState[] = [];
  return rounds.map(({ at }) => {
    const evaluation = evaluate(expression, samples, at);
    const advanced = advance(states, { ...rule, expression }, evaluation, at, { cluster: "c", hash: (text) => text });
    if (advanced.failed !== null) throw new Error(`${rule.name}: ${advanced.failed}`);
    ({ states } = advanced);
    return states.filter(({ state }) => state === "firing").map(asExpected);
  });
}

function expressionOf(condition: string): Expression {
  const parsed = parseCondition(condition);
  if (parsed.kind === "refused") throw new Error(parsed.reason);
  return parsed.expression;
}

function asExpected({ labels: { alertname: _, ...labels }, summary }: AlertState): Firing {
  return { exp_labels: labels, exp_annotations: { summary } };
}

interface Checked {
  readonly eval_time: string;
  readonly alertname: string;
  readonly exp_alerts: readonly Firing[];
}

async function alertsAreAs(checks: readonly Checked[], rounds: readonly Round[]) {
  const test = { interval: `${stepMs}ms`, input_series: seriesOf(rounds, stepMs), alert_rule_test: checks };
  const suite = JSON.stringify({ rule_files: ["rules.yml"], evaluation_interval: `${stepMs}ms`, tests: [test] });
  return await promtool(["test", "rules", "suite.yml"], { "rules.yml": prometheusRules(rules), "suite.yml": suite });
}

describe.skipIf(isMissing("promtool"))("the rules for Prometheus", { timeout: 180_000 }, () => {
  const rounds = badDay(prefix);
  const ours = rules.map((rule) => ({ rule, firing: firingByRound(rule, rounds) }));
  const everyFifth = (round: number): boolean => round % 5 === 0;
  const checks = ours.flatMap(({ rule, firing }) =>
    firing.flatMap((alerts, round) =>
      everyFifth(round) ? [{ eval_time: `${round * stepMs}ms`, alertname: rule.name, exp_alerts: alerts }] : [],
    ),
  );

  it("are rules to Prometheus", async () => {
    const { code, output } = await promtool(["check", "rules", "rules.yml"], {
      "rules.yml": prometheusRules([...rules, odd]),
    });
    expect(output).toContain(`SUCCESS: ${rules.length + 1} rules found`);
    expect(code).toBe(0);
  });

  it.each(ours.map(({ rule, firing }) => [rule.name, firing] as const))(
    "%s fires on a bad day, and not all day",
    (_, firing) => {
      const times = firing.filter((alerts) => alerts.length > 0).length;
      expect(times).toBeGreaterThan(0);
      expect(times).toBeLessThan(rounds.length);
      expect(firing.at(-1)).toEqual([]);
    },
  );

  it("fire there when they fire here, with the same labels and the same words", async () => {
    const { code, output } = await alertsAreAs(checks, rounds);
    expect(output).toContain("SUCCESS");
    expect(code).toBe(0);
  });

  it("would be seen to fire otherwise: a label, a word or a time that differs", async () => {
    const late = checks.find(({ alertname, exp_alerts }) => alertname === "late_heartbeats" && exp_alerts.length > 0);
    const [alert] = late?.exp_alerts ?? [];
    if (late === undefined || alert === undefined) throw new Error("late_heartbeats never fires");
    const wrong: readonly Checked[] = [
      { ...late, exp_alerts: [{ ...alert, exp_labels: { severity: "warning" } }] },
      { ...late, exp_alerts: [{ ...alert, exp_annotations: { summary: "The beats of c are late." } }] },
      { ...late, exp_alerts: [] },
      { ...late, eval_time: "210s" },
    ];
    for (const one of wrong) {
      const { code, output } = await alertsAreAs([one], rounds);
      expect(output).toContain("FAILED");
      expect(code).not.toBe(0);
    }
  });
});

describe.skipIf(isMissing("promtool"))("the dashboard for Grafana", { timeout: 180_000 }, () => {
  it("asks Prometheus for nothing that it cannot read", async () => {
    const { panels } = grafanaDashboard(metricCatalogue(prefix), prefix);
    const asked = panels.flatMap(({ targets }) => targets ?? []).map(({ expr }) => expr);
    const recorded = asked.map((expr, index) => ({
      record: `r:${index}`,
      expr: expr.replaceAll("$__rate_interval", "1m"),
    }));
    const { code, output } = await promtool(["check", "rules", "rules.yml"], {
      "rules.yml": JSON.stringify({ groups: [{ name: "panels", rules: recorded }] }),
    });
    expect(output).toContain(`SUCCESS: ${asked.length} rules found`);
    expect(code).toBe(0);
  });
});

describe.skipIf(isMissing("promtool"))("the guide for Prometheus", { timeout: 180_000 }, () => {
  it("shows a configuration that Prometheus takes, with the rules beside it", async () => {
    const guide = await readFile(new URL("../../docs/guides/prometheus.md", import.meta.url), "utf8");
    const [, configuration = ""] = /```yaml\n(.*?)```/s.exec(guide) ?? [];
    // promtool looks whether the token's file is there, and the guide's is not.
    const here = configuration.replace("/etc/prometheus/", "");
    const { code, output } = await promtool(["check", "config", "prometheus.yml"], {
      "prometheus.yml": here,
      "holdfast-rules.yml": prometheusRules(rules),
      "holdfast-token": "token",
    });
    expect(output).toContain("SUCCESS: 1 rule files found");
    expect(output).toContain(`SUCCESS: ${rules.length} rules found`);
    expect(code).toBe(0);
  });
});
