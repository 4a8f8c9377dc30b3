import type { WrittenRule } from "../core/alert-rule.js";
import { asTemplate, plainTemplate } from "../core/summary.js";
import { writeYaml, type YamlValue } from "./yaml.js";

/** A rule whose duration was read. */
export type ExportedRule = Omit<WrittenRule, "for"> & { readonly forMs: number };

const head = `# Written by "holdfast export prometheus-rules": the alerts of this cluster, for a Prometheus that scrapes its nodes.
# Each target needs a label "node"; the guide docs/guides/prometheus.md shows how.
`;

/** The same rules as Prometheus reads them: `rule_files` names this file. */
export function prometheusRules(rules: readonly ExportedRule[]): string {
  return `${head}${writeYaml({ groups: [{ name: "holdfast", rules: rules.map(asRule) }] })}`;
}

function asRule({ name, condition, forMs, severity, labels, summary }: ExportedRule): {
  readonly [key: string]: YamlValue;
} {
  const plain = Object.entries(labels).map(([label, value]) => [label, plainTemplate(value)] as const);
  return {
    alert: name,
    expr: condition,
    ...(forMs === 0 ? {} : { for: durationOf(forMs) }),
    labels: { severity, ...Object.fromEntries(plain) },
    ...(summary === "" ? {} : { annotations: { summary: asTemplate(summary) } }),
  };
}

/** Prometheus knows no fractions. */
function durationOf(forMs: number): string {
  const ms = Math.ceil(forMs);
  if (ms % 60_000 === 0) return `${ms / 60_000}m`;
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}
