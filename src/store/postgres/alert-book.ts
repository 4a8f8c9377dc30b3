import { gunzipSync, gzipSync } from "node:zlib";
import type { Incarnation, NodeId } from "../../election/core/names.js";
import type { Json } from "../../jobs/core/job.js";
import type {
  AlertBook,
  AlertLook,
  ClaimedNotification,
  ListedAlert,
  Notification,
  StoredAlert,
  ToldNotification,
} from "../alert-contract.js";
import { storable } from "./literal.js";
import type { Questions } from "./questions.js";

/** Alerts on PostgreSQL (migrations/0008_alerts.sql), each call one statement. Samples are kept compressed. */
export function alertBook(
  questions: Questions,
  { nodeId, incarnation }: { readonly nodeId: NodeId; readonly incarnation: Incarnation },
): AlertBook {
  const { schema } = questions;
  const ask = async <Answer>(doing: string, call: string, values: readonly unknown[]): Promise<Answer> => {
    const text = `select ${schema}.${call} as answer`;
    const [found] = await questions.rows<{ readonly answer: Answer }>(doing, text, values);
    return (found as { readonly answer: Answer }).answer;
  };
  return {
    async look({ version, sample, backMs }) {
      const values = [version, sample, backMs];
      return lookOf(await ask("looking at the alerts", "look_at_alerts($1, $2, $3)", values));
    },
    async exchange(metrics, { version, sample, backMs }) {
      const calls = `save_snapshot($4, $5, $6), ${schema}.look_at_alerts($1, $2, $3)`;
      const values = [version, sample, backMs, nodeId, incarnation, metrics];
      return lookOf(await ask("leaving a copy of the metrics and looking at the alerts", calls, values));
    },
    async keep(order) {
      const { nodeId, version, round, sample, alerts, gone, notifications, told, forgetAfterMs } = order;
      const body = asJson({
        sample: sample === null ? null : { at: sample.at, kept_ms: sample.keptMs, series: packed(sample.text) },
        alerts: alerts.map(jsonOf),
        gone,
        notifications: notifications.map(({ alertId, ...rest }) => ({ alert_id: alertId, ...rest })),
        told: told.map(({ alertId, change, target }) => ({ alert_id: alertId, change, target })),
        forget_after_ms: forgetAfterMs,
        durable: notifications.length + told.length > 0,
      });
      const values = [nodeId, version, round, body];
      const isKept = await ask<boolean>("keeping the alerts", "keep_alerts($1, $2, $3, $4)", values);
      return isKept ? "kept" : "overtaken";
    },
    async list(limit) {
      const found = await ask<readonly ListedJson[]>("reading the alerts", "list_alerts($1)", [limit]);
      return found.map((row): ListedAlert => ({ ...alertOf(row), notified: row.notified }));
    },
    async claim({ lease, targets, leaseMs, patienceMs, limit }) {
      const values = [lease, targets, leaseMs, patienceMs, limit];
      return await ask<readonly ClaimedNotification[]>(
        "claiming notifications",
        "claim_alert_notifications($1, $2, $3, $4, $5)",
        values,
      );
    },
    async settle(id, lease, outcome) {
      const failed = outcome.kind === "failed" ? [storable(outcome.problem), outcome.retryMs] : [null, null];
      return await ask<boolean>("settling a notification", "settle_alert_notification($1, $2, $3, $4)", [
        id,
        lease,
        ...failed,
      ]);
    },
  };
}

interface AlertJson {
  readonly id: string;
  readonly rule: string;
  readonly state: StoredAlert["state"];
  readonly labels: Readonly<Record<string, string>>;
  readonly summary: string;
  readonly condition: string;
  readonly value: string;
  readonly active_since: number;
  readonly fired_at: number | null;
  readonly acknowledged_at: number | null;
  readonly acknowledged_by: string | null;
  readonly resolved_at: number | null;
  readonly resolved_by: string | null;
  readonly quiet: boolean;
  readonly changes: number;
  readonly targets: readonly string[];
}

interface ListedJson extends AlertJson {
  readonly notified: readonly ToldNotification[];
}

interface LookJson {
  readonly now: number;
  readonly version: number;
  readonly round: number;
  readonly age_ms: number | null;
  readonly alerts: readonly AlertJson[] | null;
  readonly waiting: readonly (Omit<Notification, "alertId"> & { readonly alert_id: string; readonly body: Json })[];
  readonly samples: readonly { readonly id: number; readonly at: number; readonly series: string }[];
}

function lookOf({ now, version, round, age_ms: ageMs, alerts, waiting, samples }: LookJson): AlertLook {
  return {
    now,
    version,
    round,
    ageMs,
    alerts: alerts === null ? null : alerts.map(alertOf),
    waiting: waiting.map(({ alert_id: alertId, ...rest }) => ({ alertId, ...rest })),
    samples: samples.map(({ id, at, series }) => ({ id: `${id}`, at, text: unpacked(series) })),
  };
}

function alertOf(row: AlertJson): StoredAlert {
  const { acknowledged_at: at, acknowledged_by: by } = row;
  return {
    id: row.id,
    rule: row.rule,
    state: row.state,
    labels: row.labels,
    summary: row.summary,
    condition: row.condition,
    value: Number(row.value),
    activeSince: row.active_since,
    firedAt: row.fired_at,
    acknowledged: at === null || by === null ? null : { at, by },
    resolvedAt: row.resolved_at,
    resolvedBy: row.resolved_by,
    quiet: row.quiet,
    changes: row.changes,
    targets: row.targets,
  };
}

function jsonOf(alert: StoredAlert): AlertJson {
  const { activeSince, firedAt, acknowledged, resolvedAt, resolvedBy, value, ...rest } = alert;
  return {
    ...rest,
    value: `${value}`,
    active_since: activeSince,
    fired_at: firedAt,
    acknowledged_at: acknowledged?.at ?? null,
    acknowledged_by: acknowledged?.by ?? null,
    resolved_at: resolvedAt,
    resolved_by: resolvedBy,
  };
}

/** Labels are somebody else's texts, and may hold what no text of the database can. */
const asJson = (order: unknown): string =>
  JSON.stringify(order, (_key, value: unknown) => (typeof value === "string" ? storable(value) : value));

const packed = (text: string): string => gzipSync(text).toString("base64");
const unpacked = (base64: string): string => gunzipSync(Buffer.from(base64, "base64")).toString();
