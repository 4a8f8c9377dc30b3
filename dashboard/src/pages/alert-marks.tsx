import type { AlertRule, AlertState } from "../api/alert-answers.js";
import { Badge, type Tone } from "../parts/badge.js";
import { Name } from "../parts/name.js";

const states: Readonly<Record<AlertState | AlertRule["state"], Tone>> = {
  inactive: "good",
  pending: "warn",
  firing: "bad",
  acknowledged: "info",
  resolved: "quiet",
};

const severities: Readonly<Record<string, Tone>> = { critical: "bad", error: "bad", warning: "warn", info: "info" };

export function StateBadge({ state }: { readonly state: AlertState | AlertRule["state"] }) {
  return <Badge tone={states[state]}>{state}</Badge>;
}

export function SeverityBadge({ severity }: { readonly severity: string }) {
  return (
    <Badge tone={severities[severity] ?? "quiet"}>
      <Name of={severity} />
    </Badge>
  );
}
