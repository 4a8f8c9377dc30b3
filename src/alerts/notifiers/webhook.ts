import { createHmac } from "node:crypto";
import type { Secret } from "../../config/secret.js";
import type { NotificationBody } from "../notification.js";
import { guardedPost } from "./guarded-post.js";
import type { Notifier } from "./notifier.js";
import type { Reach } from "./reachable-address.js";
import { toldBy } from "./told.js";

/** Anybody's endpoint. The signature is over the time and the body, so that neither can be changed nor sent again later. */
export function webhookNotifier(parts: {
  readonly url: Secret;
  readonly secret: Secret;
  readonly reach: Reach;
  readonly now: () => number;
}): Notifier {
  const { url, secret, reach, now } = parts;
  return {
    kind: "webhook",
    async send(notification, signal) {
      const body = JSON.stringify(notification);
      const timestamp = `${Math.floor(now() / 1_000)}`;
      const signed: Record<string, string> = secret.isEmpty
        ? {}
        : { "x-holdfast-signature": signatureOf(secret.reveal(), timestamp, body) };
      const headers = { "x-holdfast-timestamp": timestamp, "x-holdfast-delivery": deliveryOf(notification), ...signed };
      return toldBy(await guardedPost({ url: url.reveal(), headers, body, reach, signal }));
    },
  };
}

function signatureOf(secret: string, timestamp: string, body: string): string {
  return `v1=${createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")}`;
}

/** The same for every attempt to tell the same. */
const deliveryOf = ({ dedup_key: key, change }: NotificationBody): string => `${key}.${change}`;
