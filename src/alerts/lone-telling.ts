import type { LoneNotification } from "./lone-alerts.js";
import { asNotificationBody, type NotificationBody } from "./notification.js";
import type { Notifier, Told } from "./notifiers/notifier.js";

/**
 * Tells each target what waits for it, in its order, all targets at the same time. A target that fails is left alone until the next
 * time. What was told is marked.
 */
export async function tellAlone(
  waiting: readonly LoneNotification[],
  notifiers: ReadonlyMap<string, Notifier>,
  tell: (notifier: Notifier, body: NotificationBody) => Promise<Told>,
  now: () => number,
): Promise<void> {
  const targets = new Set(waiting.map(({ target }) => target));
  await Promise.all(
    [...targets].map(async (target) => {
      const notifier = notifiers.get(target);
      if (notifier === undefined) return;
      for (const notification of waiting.filter((each) => each.target === target)) {
        const told = await tell(notifier, asNotificationBody(notification.body));
        if (told.kind === "failed") return;
        notification.toldAt = now();
      }
    }),
  );
}
