import type { Secret } from "../../config/secret.js";
import { byWhom, headlineOf, type NotificationBody } from "../notification.js";
import { guardedPost } from "./guarded-post.js";
import type { Notifier } from "./notifier.js";
import { everywhere } from "./reachable-address.js";
import { toldBy } from "./told.js";

/** Slack's incoming webhook. Its address is the operator's own setting, and may be a proxy's. */
export function slackNotifier(parts: { readonly url: Secret; readonly channel: string | null }): Notifier {
  const { url, channel } = parts;
  return {
    kind: "slack",
    async send(notification, signal) {
      const body = JSON.stringify({ ...(channel === null ? {} : { channel }), ...messageOf(notification) });
      return toldBy(await guardedPost({ url: url.reveal(), headers: {}, body, reach: everywhere, signal }), sayOf);
    },
  };
}

/** Slack says what is wrong in one word. */
const sayOf = (text: string): string | null => (/^[a-z_]{1,40}$/.test(text) ? text : null);

const bySeverity: Readonly<Record<string, string>> = { critical: "#c62828", warning: "#ef6c00", info: "#1565c0" };

function messageOf(notification: NotificationBody) {
  const { kind, summary, labels, value, condition, severity, at } = notification;
  const by = byWhom(notification);
  const lines = [
    escaped(summary),
    ...(by === null ? [] : [`by ${escaped(by)}`]),
    `\`${escaped(condition).replaceAll("`", "'")}\` is ${escaped(value)}`,
    Object.entries(labels)
      .map(([name, label]) => `${escaped(name)}=${escaped(label)}`)
      .join(", "),
  ];
  const color = kind === "resolved" ? "#2e7d32" : (bySeverity[severity] ?? bySeverity.warning);
  const headline = escaped(headlineOf(notification));
  return { text: headline, attachments: [{ color, fallback: headline, text: lines.join("\n"), ts: Math.floor(at) }] };
}

/** These three are what Slack reads as its own; without them nothing is a link, and nobody is called. */
const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
