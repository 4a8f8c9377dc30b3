import type { Logger } from "pino";
import { byWhom, headlineOf, type NotificationBody } from "../notification.js";
import type { Notifier } from "./notifier.js";

/** The node's own log, which is told of everything. */
export function logNotifier(log: Logger): Notifier {
  return {
    kind: "log",
    async send(notification) {
      const { dedup_key: alertId, name, severity, labels, value, change } = notification;
      const line = {
        alert: name,
        alert_id: alertId,
        change,
        severity,
        state: notification.kind,
        labels,
        value,
        by: byWhom(notification),
      };
      log[levelOf(notification)](line, `${headlineOf(notification)}: ${notification.summary}`);
      return await Promise.resolve({ kind: "sent" });
    },
  };
}

function levelOf({ kind, severity }: NotificationBody): "info" | "warn" | "error" {
  if (kind !== "firing" || severity === "info") return "info";
  return severity === "critical" ? "error" : "warn";
}
