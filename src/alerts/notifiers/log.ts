import type { Logger } from "pino";
import { byWhom, headlineOf, type NoticeBody } from "../notice-body.js";
import type { Notifier } from "./notifier.js";

/** The node's own log, which is told of everything. */
export function logNotifier(log: Logger): Notifier {
  return {
    kind: "log",
    async send(notice) {
      const { dedup_key: alertId, name, severity, labels, value, change } = notice;
      const line = {
        alert: name,
        alert_id: alertId,
        change,
        severity,
        state: notice.kind,
        labels,
        value,
        by: byWhom(notice),
      };
      log[levelOf(notice)](line, `${headlineOf(notice)}: ${notice.summary}`);
      return await Promise.resolve({ kind: "sent" });
    },
  };
}

function levelOf({ kind, severity }: NoticeBody): "info" | "warn" | "error" {
  if (kind !== "firing" || severity === "info") return "info";
  return severity === "critical" ? "error" : "warn";
}
