import type { Clock } from "../election/clock.js";
import type { FenceToken } from "../store/fence-token.js";
import type { QueueBook, StoredMessage } from "../store/queue-contract.js";
import type { QueueCounts } from "../telemetry/queue-metrics.js";
import { inSpan, spanNames } from "../telemetry/traces.js";

/** What is claimed of a lane: when each message was taken in, from the one after `done` on. */
interface Claimed {
  done: number;
  readonly since: number[];
}

/**
 * The book as it is, counting what passes through it during one term: a batch at a time, when the database has it.
 */
export function measuredBook(book: QueueBook, counts: QueueCounts, clock: Clock): QueueBook {
  const claims = new Map<number, Claimed>();
  const settledUpTo = (lane: number, done: number, now: number): number => {
    const claimed = claims.get(lane);
    if (claimed === undefined) return 0;
    const finished = claimed.since.splice(0, done - claimed.done);
    claimed.done = done;
    for (const at of finished) counts.deliveryTimes.observe(Math.max(0, now - at) / 1000);
    return finished.length;
  };

  const measured: Pick<QueueBook, "recover" | "claim" | "settle" | "sweep"> = {
    async recover(fence, order) {
      const recovery = await book.recover(fence, order);
      claims.clear();
      if (recovery.reclaimed > 0) counts.reclaimed(recovery.reclaimed);
      if (recovery.quarantined > 0) counts.dead(recovery.quarantined);
      return recovery;
    },
    async claim(fence, order) {
      const messages = await inSpan(spanNames.claim, attributesOf(fence), async (span) => {
        const claimed = await book.claim(fence, order);
        span?.setAttribute("holdfast.messages", claimed.length);
        return claimed;
      });
      note(claims, messages);
      return messages;
    },
    async settle(fence, settlements, produced, journal) {
      const gone = await inSpan(spanNames.settle, attributesOf(fence), async () => {
        return await book.settle(fence, settlements, produced, journal);
      });
      // Where something comes with it and one claim is gone, nothing was settled.
      if (gone.length > 0 && (produced !== null || journal !== undefined)) return gone;
      const now = clock.wall();
      let delivered = 0;
      let dead = 0;
      for (const { lane, done, keeps, head } of settlements) {
        if (gone.length > 0 && gone.includes(lane)) continue;
        delivered += settledUpTo(lane, done, now);
        if (head.kind === "dead") dead += 1;
        if (!keeps) claims.delete(lane);
      }
      if (delivered > 0) counts.delivered(delivered);
      if (dead > 0) counts.dead(dead);
      return gone;
    },
    async sweep(fence, queue) {
      const swept = await book.sweep(fence, queue);
      if (swept.length > 0) counts.reclaimed(swept.length);
      return swept;
    },
  };
  return Object.assign(Object.create(book) as QueueBook, measured);
}

const attributesOf = ({ role, epoch }: FenceToken) => ({ "holdfast.role": role, "holdfast.epoch": Number(epoch) });

/** They come lane by lane, each in order. */
function note(claims: Map<number, Claimed>, messages: readonly StoredMessage[]): void {
  let current: Claimed | null = null;
  let lane = -1;
  for (const message of messages) {
    if (current === null || message.lane !== lane) {
      lane = message.lane;
      current = { done: message.position - 1, since: [] };
      claims.set(lane, current);
    }
    current.since.push(message.at);
  }
}
