import type { LoneNotice } from "./lone-alerts.js";
import { asNoticeBody, type NoticeBody } from "./notice-body.js";
import type { Notifier, Told } from "./notifiers/notifier.js";

/**
 * Tells each target what waits for it, in its order, all targets at the same time. A target that fails is left alone until the next
 * time. What was told is marked.
 */
export async function tellAlone(
  waiting: readonly LoneNotice[],
  notifiers: ReadonlyMap<string, Notifier>,
  tell: (notifier: Notifier, body: NoticeBody) => Promise<Told>,
  now: () => number,
): Promise<void> {
  const targets = new Set(waiting.map(({ target }) => target));
  await Promise.all(
    [...targets].map(async (target) => {
      const notifier = notifiers.get(target);
      if (notifier === undefined) return;
      for (const notice of waiting.filter((each) => each.target === target)) {
        const told = await tell(notifier, asNoticeBody(notice.body));
        if (told.kind === "failed") return;
        notice.toldAt = now();
      }
    }),
  );
}
