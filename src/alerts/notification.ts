import type { Json } from "../jobs/core/job.js";
import type { AlertChange } from "./core/alert-state.js";

/** What is told of a change, to everybody the same. JSON, as it is kept and as webhooks get it; times are seconds since 1970. */
export interface NotificationBody {
  readonly kind: AlertChange["kind"] | "test";
  readonly cluster: string;
  /** The alert: the same for the same rule and labels, on every node and at any time. Receivers drop by it what they have. */
  readonly dedup_key: string;
  /** 1, 2, 3 for the changes of one alert. */
  readonly change: number;
  readonly name: string;
  readonly severity: string;
  readonly summary: string;
  readonly condition: string;
  /** As text: it may be NaN or Infinity. */
  readonly value: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly at: number;
  readonly active_since: number;
  readonly fired_at: number | null;
  readonly acknowledged_by: string | null;
  readonly resolved_by: string | null;
}

export function notificationBodyOf(
  { number, kind, at, alert }: AlertChange,
  condition: string,
  cluster: string,
): NotificationBody {
  const { labels } = alert;
  return {
    kind,
    cluster,
    dedup_key: alert.id,
    change: number,
    name: alert.rule,
    severity: labels.severity ?? "warning",
    summary: alert.summary === "" ? alert.rule : alert.summary,
    condition,
    value: `${alert.value}`,
    labels,
    at: at / 1_000,
    active_since: alert.activeSince / 1_000,
    fired_at: alert.firedAt === null ? null : alert.firedAt / 1_000,
    acknowledged_by: alert.acknowledged?.by ?? null,
    resolved_by: alert.resolvedBy,
  };
}

/** As it comes back from the store, which keeps it and does not look at it. */
export const asNotificationBody = (kept: Json): NotificationBody => kept as unknown as NotificationBody;
export const asKept = (body: NotificationBody): Json => body as unknown as Json;

const words = {
  firing: "FIRING",
  acknowledged: "ACKNOWLEDGED",
  resolved: "RESOLVED",
  test: "TEST",
} as const satisfies Record<NotificationBody["kind"], string>;

/** One line for people. */
export function headlineOf({ kind, name, severity, cluster }: NotificationBody): string {
  return `[${words[kind]}] ${name} (${severity}) in cluster ${cluster}`;
}

/** By whom, where it was somebody. */
export function byWhom({
  kind,
  acknowledged_by: acknowledged,
  resolved_by: resolved,
}: NotificationBody): string | null {
  if (kind === "acknowledged") return acknowledged;
  return kind === "resolved" ? resolved : null;
}
