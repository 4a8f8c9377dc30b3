import { createHash } from "node:crypto";
import type { Logger } from "pino";
import type { Config } from "../../config/config.js";
import type { NotifyTarget } from "../../config/notify-target.js";
import { logNotifier } from "./log.js";
import type { Notifier } from "./notifier.js";
import { pagerdutyNotifier } from "./pagerduty.js";
import { reachOf } from "./reachable-address.js";
import { slackNotifier } from "./slack.js";
import { webhookNotifier } from "./webhook.js";

/**
 * The name of a target, the same on every node that has the same settings, and good to be shown: of a webhook's address only the host
 * is in it, and a hash that tells two of one host apart.
 */
export function nameOfTarget(target: NotifyTarget): string {
  if (target.kind === "slack") return target.channel === null ? "slack" : `slack:${target.channel}`;
  if (target.kind !== "webhook") return target.kind;
  const url = target.url.reveal();
  return `webhook:${new URL(url).host}#${createHash("sha256").update(url).digest("hex").slice(0, 8)}`;
}

/**
 * A way to each of these targets, by its name. The log is always among them, and so are the services whose keys are set: somebody
 * may have been told there by a rule that is no more, and an incident should end.
 */
export function notifiersOf(
  targets: readonly NotifyTarget[],
  parts: { readonly notify: Config["notify"]; readonly log: Logger; readonly now: () => number },
): ReadonlyMap<string, Notifier> {
  const { notify, log, now } = parts;
  const reach = reachOf(notify.webhook.allow);
  const notifierOf = (target: NotifyTarget): Notifier => {
    switch (target.kind) {
      case "log":
        return logNotifier(log);
      case "slack":
        return slackNotifier({ url: notify.slack.webhookUrl, channel: target.channel });
      case "pagerduty":
        return pagerdutyNotifier({ url: notify.pagerduty.url, routingKey: notify.pagerduty.routingKey });
      case "webhook":
        return webhookNotifier({ url: target.url, secret: notify.webhook.secret, reach, now });
    }
  };
  const services: readonly NotifyTarget[] = [
    ...(notify.slack.webhookUrl.isEmpty ? [] : [{ kind: "slack", channel: null } as const]),
    ...(notify.pagerduty.routingKey.isEmpty ? [] : [{ kind: "pagerduty" } as const]),
  ];
  const all: readonly NotifyTarget[] = [{ kind: "log" }, ...services, ...targets];
  return new Map(all.map((target) => [nameOfTarget(target), notifierOf(target)]));
}
