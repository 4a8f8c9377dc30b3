import type { AlertBook, AlertOrder, Notice, StoredAlert } from "../alert-contract.js";
import type { MemoryAlertTables, MemoryNotice } from "./alert-tables.js";

const mostWaiting = 100;
const mostTold = 50;
const rank: Readonly<Record<StoredAlert["state"], number>> = { firing: 0, pending: 1, resolved: 2 };

/** Alerts in memory. */
export function memoryAlerts(tables: MemoryAlertTables, now: () => number): AlertBook {
  return {
    async look({ version, sample, backMs }) {
      const since = now() - backMs;
      const seen = Number(sample ?? 0);
      return await Promise.resolve({
        now: now(),
        version: tables.version,
        round: tables.round,
        ageMs: tables.at === null ? null : now() - tables.at,
        alerts: version === tables.version ? null : [...tables.alerts.values()].sort(byId),
        waiting: tables.notices.filter(isWaiting).slice(0, mostWaiting).map(noticeOf),
        samples: tables.samples.filter(({ id, at }) => Number(id) > seen && at > since),
      });
    },
    async keep(order) {
      const isCurrent = order.version === tables.version && order.round === tables.round;
      if (isCurrent) write(tables, now(), structuredClone(order));
      return await Promise.resolve(isCurrent ? "kept" : "overtaken");
    },
    async list(limit) {
      const sorted = [...tables.alerts.values()].sort(
        (one, other) => rank[one.state] - rank[other.state] || latest(other) - latest(one) || byId(one, other),
      );
      const listed = sorted.slice(0, limit).map((alert) => {
        const notices = tables.notices.filter(({ alertId }) => alertId === alert.id).toReversed();
        return { ...alert, notified: notices.slice(0, mostTold).map(toldOf) };
      });
      return await Promise.resolve(listed);
    },
    async claim({ lease, targets, leaseMs, patienceMs, limit }) {
      const at = now();
      const isFree = (notice: MemoryNotice): boolean => isWaiting(notice) && notice.leasedUntil <= at;
      for (const notice of tables.notices) {
        if (isFree(notice) && notice.at < at - patienceMs) finish(notice, at, "given_up");
      }
      const isFirst = ({ id, alertId, target }: MemoryNotice): boolean =>
        !tables.notices.some(
          (other) => isWaiting(other) && other.alertId === alertId && other.target === target && other.id < id,
        );
      const due = tables.notices.filter(
        (notice) => isFree(notice) && notice.dueAt <= at && targets.includes(notice.target) && isFirst(notice),
      );
      const claimed = due.slice(0, limit);
      for (const notice of claimed) {
        Object.assign(notice, { lease, leasedUntil: at + leaseMs, attempts: notice.attempts + 1 });
      }
      return await Promise.resolve(
        claimed.map(({ id, target, body, attempts }) => ({
          id: `${id}`,
          target,
          body: structuredClone(body),
          attempts,
        })),
      );
    },
    async settle(id, lease, outcome) {
      const notice = tables.notices.find((each) => `${each.id}` === id);
      if (notice === undefined || notice.lease !== lease || !isWaiting(notice)) return await Promise.resolve(false);
      if (outcome.kind === "sent") {
        finish(notice, now(), "sent");
        notice.problem = null;
      } else {
        const { problem, retryMs } = outcome;
        Object.assign(notice, { problem, dueAt: now() + retryMs, lease: null, leasedUntil: 0 });
      }
      return await Promise.resolve(true);
    },
  };
}

function write(tables: MemoryAlertTables, at: number, order: AlertOrder): void {
  const { sample, alerts, gone, notices, told, forgetAfterMs } = order;
  if (alerts.length + gone.length > 0) tables.version += 1;
  if (sample !== null) {
    tables.round += 1;
    tables.at = sample.at;
    tables.lastSample += 1;
    const added = [...tables.samples, { id: `${tables.lastSample}`, at: sample.at, text: sample.text }];
    tables.samples = added.filter((each) => each.at >= at - sample.keptMs);
  }
  for (const id of gone) drop(tables, id);
  for (const alert of alerts) tables.alerts.set(alert.id, alert);
  for (const { told: isTold, ...notice } of notices) {
    if (tables.notices.some((each) => isSame(each, notice))) continue;
    tables.lastNotice += 1;
    const outcome = isTold ? ("sent" as const) : null;
    const state = { dueAt: at, attempts: 0, lease: null, leasedUntil: 0, doneAt: isTold ? at : null, outcome };
    tables.notices.push({ ...notice, id: tables.lastNotice, at, ...state, problem: null });
  }
  for (const notice of tables.notices) {
    if (isWaiting(notice) && told.some((each) => isSame(each, notice))) finish(notice, at, "sent");
  }
  if (forgetAfterMs === null) return;
  for (const { id, state, quiet, resolvedAt } of tables.alerts.values()) {
    const isOld = state === "resolved" && !quiet && (resolvedAt ?? at) < at - forgetAfterMs;
    if (isOld && !tables.notices.some((each) => each.alertId === id && isWaiting(each))) drop(tables, id);
  }
}

function drop(tables: MemoryAlertTables, id: string): void {
  tables.alerts.delete(id);
  tables.notices = tables.notices.filter(({ alertId }) => alertId !== id);
}

function finish(notice: MemoryNotice, at: number, outcome: "sent" | "given_up"): void {
  Object.assign(notice, { doneAt: at, outcome, lease: null, leasedUntil: 0 });
}

const isWaiting = ({ doneAt }: MemoryNotice): boolean => doneAt === null;
const byId = (one: StoredAlert, other: StoredAlert): number => (one.id < other.id ? -1 : 1);
const latest = ({ resolvedAt, activeSince }: StoredAlert): number => resolvedAt ?? activeSince;

const isSame = (one: Omit<Notice, "body">, other: Omit<Notice, "body">): boolean =>
  one.alertId === other.alertId && one.change === other.change && one.target === other.target;

function noticeOf({ alertId, change, target, body }: MemoryNotice): Notice {
  return { alertId, change, target, body: structuredClone(body) };
}

function toldOf({ target, body, at, doneAt, outcome, attempts, problem }: MemoryNotice) {
  const { kind } = body as { readonly kind: string };
  return { target, change: kind, at: doneAt ?? at, outcome: outcome ?? ("waiting" as const), attempts, problem };
}
