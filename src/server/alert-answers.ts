import Type, { type Static } from "typebox";
import type { SeenAlert, SeenRule, Tested } from "../alerts/alert-room.js";
import { exactly, nullable, secondsOf, secondsOrNull, time } from "./fields.js";

/** What alerts look like from outside. Whom they are told to has names that show no address. */

export const alertId = Type.String({ pattern: "^[0-9a-f]{1,64}$", description: "An alert's id: its dedup key" });
export const ruleName = Type.String({ pattern: "^[A-Za-z0-9_.-]{1,100}$", description: "A rule's name" });
export const shownState = Type.Enum(["pending", "firing", "acknowledged", "resolved"]);
const labels = Type.Record(Type.String(), Type.String());

const notified = exactly({
  target: Type.String({ description: "Whom: log, slack, slack:#channel, pagerduty, webhook:host#hash" }),
  change: Type.String({ description: "Of what: firing, acknowledged, resolved" }),
  at: Type.Number({ description: "When it was told or given up; of one that waits, since when" }),
  outcome: Type.Enum(["waiting", "sent", "given_up"]),
  attempts: Type.Integer({ minimum: 0 }),
  problem: nullable(Type.String({ description: "What went wrong at the last attempt" })),
});

export const alertSchema = exactly({
  id: alertId,
  name: Type.String({ description: "Its rule" }),
  state: shownState,
  severity: Type.String(),
  labels,
  value: nullable(Type.Number({ description: "Null where it is infinite or no number" })),
  condition: Type.String(),
  summary: Type.String(),
  active_since: time,
  fired_at: nullable(Type.Number()),
  acknowledged_at: nullable(Type.Number()),
  acknowledged_by: nullable(Type.String()),
  resolved_at: nullable(Type.Number()),
  resolved_by: nullable(Type.String({ description: "Null where the condition did not hold any more" })),
  notified: Type.Array(notified, { description: "The latest first" }),
});

export type AlertAnswer = Static<typeof alertSchema>;

export const ruleSchema = exactly({
  name: Type.String(),
  state: Type.Enum(["inactive", "pending", "firing", "acknowledged"]),
  alerts: Type.Integer({ description: "How many of its alerts are pending or fire" }),
  condition: Type.String(),
  for_seconds: Type.Number(),
  severity: Type.String(),
  labels,
  summary: Type.String({ description: "As it is written, with its placeholders" }),
  notify: Type.Array(Type.String()),
  origin: Type.Enum(["default", "settings"]),
});

export type RuleAnswer = Static<typeof ruleSchema>;

export const testedSchema = exactly({
  items: Type.Array(
    exactly({
      target: Type.String(),
      outcome: Type.Enum(["sent", "failed"]),
      problem: nullable(Type.String()),
    }),
  ),
});

export type TestedAnswer = Static<typeof testedSchema>;

export function showAlert(alert: SeenAlert): AlertAnswer {
  const { id, rule, state, labels: own, value, condition, summary, notified: told } = alert;
  return {
    id,
    name: rule,
    state,
    severity: own.severity ?? "warning",
    labels: own,
    value: Number.isFinite(value) ? value : null,
    condition,
    summary,
    active_since: secondsOf(alert.activeSince),
    fired_at: secondsOrNull(alert.firedAt),
    acknowledged_at: secondsOrNull(alert.acknowledged?.at ?? null),
    acknowledged_by: alert.acknowledged?.by ?? null,
    resolved_at: secondsOrNull(alert.resolvedAt),
    resolved_by: alert.resolvedBy,
    notified: told.map(({ at, ...rest }) => ({ ...rest, at: secondsOf(at) })),
  };
}

export function showRule({ rule, state, alerts }: SeenRule): RuleAnswer {
  const { name, condition, forMs, severity, labels: own, summary, targets, origin } = rule;
  return {
    name,
    state,
    alerts,
    condition,
    for_seconds: secondsOf(forMs),
    severity,
    labels: own,
    summary,
    notify: [...targets],
    origin,
  };
}

export function showTested(tested: readonly Tested[]): TestedAnswer {
  return {
    items: tested.map(({ target, problem }) => ({
      target,
      outcome: problem === null ? ("sent" as const) : ("failed" as const),
      problem,
    })),
  };
}
