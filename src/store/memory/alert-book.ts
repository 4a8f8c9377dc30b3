import type { AlertBook, AlertOrder, Notification, StoredAlert } from "../alert-contract.js";
import type { SnapshotBook } from "../contract.js";
import type { MemoryAlertTables, MemoryNotification } from "./alert-tables.js";

const mostWaiting = 100;
const mostTold = 50;
const rank: Readonly<Record<StoredAlert["state"], number>> = { firing: 0, pending: 1, resolved: 2 };

/** Alerts in memory. */
export function memoryAlerts(
  tables: MemoryAlertTables,
  now: () => number,
  snapshots: Pick<SnapshotBook, "save">,
): AlertBook {
  const book: AlertBook = {
    async look({ version, sample, backMs }) {
      const since = now() - backMs;
      const seen = Number(sample ?? 0);
      return await Promise.resolve({
        now: now(),
        version: tables.version,
        round: tables.round,
        ageMs: tables.at === null ? null : now() - tables.at,
        alerts: version === tables.version ? null : [...tables.alerts.values()].sort(byId),
        waiting: tables.notifications.filter(isWaiting).slice(0, mostWaiting).map(notificationOf),
        samples: tables.samples.filter(({ id, at }) => Number(id) > seen && at > since),
      });
    },
    async exchange(metrics, known) {
      await snapshots.save(metrics);
      return await book.look(known);
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
        const notifications = tables.notifications.filter(({ alertId }) => alertId === alert.id).toReversed();
        return { ...alert, notified: notifications.slice(0, mostTold).map(toldOf) };
      });
      return await Promise.resolve(listed);
    },
    async claim(order) {
      const claimed = claim(tables.notifications, now(), order);
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
      const notification = tables.notifications.find((each) => `${each.id}` === id);
      if (notification === undefined || notification.lease !== lease || !isWaiting(notification))
        return await Promise.resolve(false);
      if (outcome.kind === "sent") {
        finish(notification, now(), "sent");
        notification.problem = null;
      } else {
        const { problem, retryMs } = outcome;
        Object.assign(notification, { problem, dueAt: now() + retryMs, lease: null, leasedUntil: 0 });
      }
      return await Promise.resolve(true);
    },
  };
  return book;
}

/** Those that are due and nobody has; of an alert and a target one after the other. */
function claim(
  notifications: readonly MemoryNotification[],
  at: number,
  { lease, targets, leaseMs, patienceMs, limit }: Parameters<AlertBook["claim"]>[0],
): readonly MemoryNotification[] {
  const isFree = (notification: MemoryNotification): boolean =>
    isWaiting(notification) && notification.leasedUntil <= at;
  for (const notification of notifications) {
    if (isFree(notification) && notification.at < at - patienceMs) finish(notification, at, "given_up");
  }
  const isFirst = ({ id, alertId, target }: MemoryNotification): boolean =>
    !notifications.some(
      (other) => isWaiting(other) && other.alertId === alertId && other.target === target && other.id < id,
    );
  const due = notifications.filter(
    (notification) =>
      isFree(notification) &&
      notification.dueAt <= at &&
      targets.includes(notification.target) &&
      isFirst(notification),
  );
  const claimed = due.slice(0, limit);
  for (const notification of claimed) {
    Object.assign(notification, { lease, leasedUntil: at + leaseMs, attempts: notification.attempts + 1 });
  }
  return claimed;
}

function write(tables: MemoryAlertTables, at: number, order: AlertOrder): void {
  const { sample, alerts, gone, notifications, told, forgetAfterMs } = order;
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
  for (const { told: isTold, ...notification } of notifications) {
    if (tables.notifications.some((each) => isSame(each, notification))) continue;
    tables.lastNotification += 1;
    const outcome = isTold ? ("sent" as const) : null;
    const state = { dueAt: at, attempts: 0, lease: null, leasedUntil: 0, doneAt: isTold ? at : null, outcome };
    tables.notifications.push({ ...notification, id: tables.lastNotification, at, ...state, problem: null });
  }
  for (const notification of tables.notifications) {
    if (isWaiting(notification) && told.some((each) => isSame(each, notification))) finish(notification, at, "sent");
  }
  if (forgetAfterMs === null) return;
  for (const { id, state, quiet, resolvedAt } of tables.alerts.values()) {
    const isOld = state === "resolved" && !quiet && (resolvedAt ?? at) < at - forgetAfterMs;
    if (isOld && !tables.notifications.some((each) => each.alertId === id && isWaiting(each))) drop(tables, id);
  }
  tables.notifications = tables.notifications.filter(({ doneAt }) => (doneAt ?? at) >= at - forgetAfterMs);
}

function drop(tables: MemoryAlertTables, id: string): void {
  tables.alerts.delete(id);
  tables.notifications = tables.notifications.filter(({ alertId }) => alertId !== id);
}

function finish(notification: MemoryNotification, at: number, outcome: "sent" | "given_up"): void {
  Object.assign(notification, { doneAt: at, outcome, lease: null, leasedUntil: 0 });
}

const isWaiting = ({ doneAt }: MemoryNotification): boolean => doneAt === null;
const byId = (one: StoredAlert, other: StoredAlert): number => (one.id < other.id ? -1 : 1);
const latest = ({ resolvedAt, activeSince }: StoredAlert): number => resolvedAt ?? activeSince;

const isSame = (one: Omit<Notification, "body">, other: Omit<Notification, "body">): boolean =>
  one.alertId === other.alertId && one.change === other.change && one.target === other.target;

function notificationOf({ alertId, change, target, body }: MemoryNotification): Notification {
  return { alertId, change, target, body: structuredClone(body) };
}

function toldOf({ target, body, at, doneAt, outcome, attempts, problem }: MemoryNotification) {
  const { kind } = body as { readonly kind: string };
  return { target, change: kind, at: doneAt ?? at, outcome: outcome ?? ("waiting" as const), attempts, problem };
}
