import type { Config } from "../config/config.js";
import { parseDuration } from "../config/duration.js";
import type { NotifyTarget } from "../config/notify-target.js";
import { invariant } from "../errors.js";
import type { AlertRule, WrittenRule } from "./core/alert-rule.js";
import { defaultRules } from "./core/default-rules.js";
import { keptMs, type NeededSeries, selectorsOf } from "./core/needed-series.js";
import { nameOfTarget } from "./notifiers/notifiers.js";
import { parseCondition } from "./promql/parse-condition.js";

/** A rule that this node watches. */
export interface WatchedRule extends AlertRule {
  readonly condition: string;
  readonly origin: "default" | "settings";
  /** Who is told, by name; the log first. */
  readonly targets: readonly string[];
}

/** All rules of a node, and what they read. */
export interface RuleSet {
  readonly rules: readonly WatchedRule[];
  readonly targets: readonly NotifyTarget[];
  /** What each rule reads. */
  readonly readings: readonly { readonly name: string; readonly needed: readonly NeededSeries[] }[];
  /** How far back the longest look goes. */
  readonly backMs: number;
}

interface RuleOf {
  readonly rule: WrittenRule;
  readonly origin: WatchedRule["origin"];
  readonly notify: readonly NotifyTarget[];
}

/** Those that come with Holdfast, and over them those of the settings: one of the same name replaces it, or turns it off. */
function writtenRulesOf(config: Pick<Config, "alerting" | "alerts" | "cluster" | "metrics">): readonly RuleOf[] {
  const { alerting, alerts, cluster, metrics } = config;
  const timings = {
    heartbeatSeconds: cluster.heartbeatSeconds,
    fenceTimeoutSeconds: cluster.leaderFenceTimeoutSeconds,
  };
  const stated = new Set(alerts.map(({ name }) => name));
  const defaults = alerting.defaults ? defaultRules(metrics.prefix, timings) : [];
  return [
    ...defaults
      .filter(({ name }) => !stated.has(name))
      .map((rule): RuleOf => ({ rule, origin: "default", notify: alerting.notify })),
    ...alerts
      .filter(({ enabled }) => enabled)
      .map(
        ({ enabled: _on, notify, ...rule }): RuleOf => ({
          rule: { ...rule, for: rule.for.written },
          origin: "settings",
          notify,
        }),
      ),
  ];
}

export function ruleSetOf(config: Config): RuleSet {
  const written = writtenRulesOf(config);
  const rules = written.map(watchedRule);
  const readings = rules.map(({ name, expression }) => ({ name, needed: selectorsOf(expression) }));
  const backMs = keptMs(readings.flatMap(({ needed }) => needed));
  return { rules, targets: written.flatMap(({ notify }) => notify), readings, backMs };
}

function watchedRule({ rule, origin, notify }: RuleOf): WatchedRule {
  const { name, condition, severity, labels, summary } = rule;
  const parsed = parseCondition(condition);
  const duration = parseDuration(rule.for);
  // Settings were checked when they were read, and ours are ours.
  invariant(parsed.kind === "parsed" && duration !== null, `rule ${name} cannot be read`);
  const targets = [...new Set(["log", ...notify.map(nameOfTarget)])];
  const { expression } = parsed;
  return { name, expression, forMs: duration.ms, severity, labels, summary, condition, origin, targets };
}
