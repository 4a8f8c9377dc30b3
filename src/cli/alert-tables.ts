import type { AlertAnswer, RuleAnswer, TestedAnswer } from "../server/alert-answers.js";
import type { TimedLook } from "./cluster-tables.js";
import { formatElapsed } from "./elapsed.js";
import type { Tone } from "./paint.js";
import { type Column, renderTable, type TableLook } from "./table.js";

const tones: Readonly<Record<AlertAnswer["state"] | "inactive", Tone>> = {
  firing: "bad",
  acknowledged: "warning",
  pending: "warning",
  resolved: "dim",
  inactive: "good",
};

export function renderAlerts(alerts: readonly AlertAnswer[], { now, ...look }: TimedLook): readonly string[] {
  const columns: readonly Column<AlertAnswer>[] = [
    { title: "alert", cell: (alert) => alert.name, tone: () => "strong" },
    { title: "state", cell: (alert) => alert.state, tone: (alert) => tones[alert.state], whole: true },
    { title: "severity", cell: (alert) => alert.severity, whole: true },
    { title: "since", cell: (alert) => sinceOf(alert, now), align: "right", whole: true },
    { title: "value", cell: (alert) => (alert.value === null ? "-" : String(alert.value)), align: "right" },
    { title: "summary", cell: (alert) => alert.summary },
    { title: "id", cell: (alert) => alert.id, whole: true, spare: true },
  ];
  return renderTable(columns, alerts, look);
}

export function renderRules(rules: readonly RuleAnswer[], look: TableLook): readonly string[] {
  const columns: readonly Column<RuleAnswer>[] = [
    { title: "rule", cell: (rule) => rule.name, tone: () => "strong" },
    { title: "state", cell: (rule) => rule.state, tone: (rule) => tones[rule.state], whole: true },
    { title: "severity", cell: (rule) => rule.severity, whole: true },
    {
      title: "for",
      cell: (rule) => (rule.for_seconds === 0 ? "-" : formatElapsed(rule.for_seconds * 1000)),
      align: "right",
      whole: true,
    },
    { title: "notify", cell: (rule) => rule.notify.join(", ") },
    { title: "condition", cell: (rule) => rule.condition, spare: true },
    { title: "from", cell: (rule) => rule.origin, whole: true, spare: true },
  ];
  return renderTable(columns, rules, look);
}

export function renderTested({ items }: TestedAnswer, look: TableLook): readonly string[] {
  const columns: readonly Column<TestedAnswer["items"][number]>[] = [
    { title: "target", cell: ({ target }) => target, tone: () => "strong" },
    {
      title: "outcome",
      cell: ({ outcome }) => outcome,
      tone: ({ outcome }) => (outcome === "sent" ? "good" : "bad"),
      whole: true,
    },
    { title: "problem", cell: ({ problem }) => problem ?? "" },
  ];
  return renderTable(columns, items, look);
}

function sinceOf({ state, active_since: active, resolved_at: resolved }: AlertAnswer, now: number): string {
  const at = state === "resolved" ? (resolved ?? active) : active;
  return formatElapsed(Math.max(0, now - at) * 1000);
}
