import type { Secret } from "../../config/secret.js";
import { headlineOf, type NotificationBody } from "../notification.js";
import { guardedPost } from "./guarded-post.js";
import type { Notifier, Told } from "./notifier.js";
import { everywhere } from "./reachable-address.js";
import { toldBy } from "./told.js";

/** PagerDuty's Events API v2. An incident is opened, acknowledged and closed under the alert's own key. */
export function pagerdutyNotifier(parts: { readonly url: string; readonly routingKey: Secret }): Notifier {
  const { url, routingKey } = parts;
  return {
    kind: "pagerduty",
    async send(notification, signal) {
      const post = async (action: string): Promise<Told> => {
        const body = JSON.stringify({ routing_key: routingKey.reveal(), ...eventOf(notification, action) });
        return toldBy(await guardedPost({ url, headers: {}, body, reach: everywhere, signal }));
      };
      if (notification.kind !== "test") return await post(actions[notification.kind]);
      // What was opened for a test wakes somebody at most once.
      const opened = await post("trigger");
      return opened.kind === "sent" ? await post("resolve") : opened;
    },
  };
}

const actions = { firing: "trigger", acknowledged: "acknowledge", resolved: "resolve" } as const;
const mostSummary = 1_024;

function eventOf(notification: NotificationBody, action: string) {
  const { dedup_key: key, summary, severity, cluster, name, labels, condition, value, at } = notification;
  return {
    event_action: action,
    dedup_key: key,
    client: "Holdfast",
    payload: {
      summary: `${headlineOf(notification)}: ${summary}`.slice(0, mostSummary),
      source: labels.node ?? cluster,
      severity: ["critical", "warning", "info"].includes(severity) ? severity : "error",
      timestamp: new Date(at * 1_000).toISOString(),
      group: cluster,
      class: name,
      custom_details: { condition, value, labels },
    },
  };
}
