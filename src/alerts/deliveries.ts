import { randomBytes } from "node:crypto";
import type { Clock } from "../election/clock.js";
import type { AlertBook, ClaimedNotification, Notification, NotificationOutcome } from "../store/alert-contract.js";
import type { AlertMetrics } from "../telemetry/alert-metrics.js";
import { asNotificationBody, type NotificationBody } from "./notification.js";
import type { Notifier, Told } from "./notifiers/notifier.js";

export interface DeliveryParts {
  readonly book: Pick<AlertBook, "claim" | "settle">;
  readonly notifiers: ReadonlyMap<string, Notifier>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly metrics: Pick<AlertMetrics, "told">;
  readonly trouble: (what: string, error: unknown) => void;
  /** Once aborted, nothing more is claimed. */
  readonly stopping: AbortSignal;
  /** Once aborted, what is under way is called off. */
  readonly signal: AbortSignal;
}

/** A notifier takes no longer than a third of it. */
const leaseMs = 30_000;
/** What was claimed longer ago is left to whoever claims it next. */
const latestStartMs = 10_000;
/** What nobody could be told for so long is given up. */
const patienceMs = 86_400_000;
const mostAtOnce = 20;
const firstPauseMs = 5_000;
const longestPauseMs = 600_000;
const longestAskedPauseMs = 3_600_000;

/**
 * Tells what is due, whichever node wrote it. A row is claimed, told and settled; whoever dies between the last two has it told
 * again, under the same key, when the claim has run out.
 */
export class Deliveries {
  /** Told, and the database does not know: nobody else must tell it again. */
  unmarked: readonly Omit<Notification, "body">[] = [];
  private readonly parts: DeliveryParts;
  private readonly underWay = new Set<Promise<void>>();
  private claiming = false;
  private again = false;

  constructor(parts: DeliveryParts) {
    this.parts = parts;
  }

  /** Looks for what is due. Does not wait for what comes of it. */
  kick(): void {
    this.again = true;
    if (this.claiming || this.parts.stopping.aborted) return;
    this.claiming = true;
    this.claimAll()
      .catch((error: unknown) => this.parts.trouble("could not claim what is to be told of alerts", error))
      .finally(() => {
        this.claiming = false;
      });
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay);
  }

  /** Tells it by this way, and counts what came of it. */
  async tell(notifier: Notifier, body: NotificationBody): Promise<Told> {
    // Rows outlive versions, and what one of them has written need not be what this one reads.
    const told = await notifier.send(body, this.parts.signal).catch(unreadable);
    this.parts.metrics.told(notifier.kind, told.kind);
    return told;
  }

  private async claimAll(): Promise<void> {
    const { book, notifiers, clock, stopping } = this.parts;
    while (this.again && !stopping.aborted) {
      this.again = false;
      const limit = mostAtOnce - this.underWay.size;
      if (limit <= 0) return; // Whatever ends looks again.
      const lease = randomBytes(12).toString("hex");
      const at = clock.mono();
      const claimed = await book.claim({ lease, targets: [...notifiers.keys()], leaseMs, patienceMs, limit });
      for (const notification of claimed) this.begin(notification, lease, at);
    }
  }

  private begin(notification: ClaimedNotification, lease: string, claimedAt: number): void {
    const failed = (error: unknown): void =>
      this.parts.trouble(`could not tell ${notification.target} of an alert`, error);
    const work = this.deliver(notification, lease, claimedAt)
      .catch(failed)
      .finally(() => {
        this.underWay.delete(work);
        this.kick();
      });
    this.underWay.add(work);
  }

  private async deliver(notification: ClaimedNotification, lease: string, claimedAt: number): Promise<void> {
    const { book, notifiers, clock, trouble, signal } = this.parts;
    const notifier = notifiers.get(notification.target);
    if (notifier === undefined || signal.aborted || clock.mono() - claimedAt > latestStartMs) return;
    const body = asNotificationBody(notification.body);
    const told = await this.tell(notifier, body);
    // It may have been received: the claim runs out by itself.
    if (told.kind === "failed" && signal.aborted) return;
    const { name, change, dedup_key: alertId } = body;
    if (told.kind === "failed") {
      trouble(`could not tell ${notification.target} of the alert ${name}`, new Error(told.problem));
    }
    try {
      await book.settle(notification.id, lease, this.outcomeOf(told, notification.attempts));
    } catch (error) {
      if (told.kind === "sent") this.unmarked = [...this.unmarked, { alertId, change, target: notification.target }];
      trouble("could not write down what was told of alerts", error);
    }
  }

  private outcomeOf(told: Told, attempts: number): NotificationOutcome {
    if (told.kind === "sent") return told;
    const { problem, afterMs } = told;
    const backoffMs = Math.min(firstPauseMs * 2 ** Math.min(attempts - 1, 20), longestPauseMs);
    const askedMs = Math.min(afterMs ?? 0, longestAskedPauseMs);
    return { kind: "failed", problem, retryMs: Math.max(askedMs, backoffMs * (0.8 + 0.4 * this.parts.random())) };
  }
}

function unreadable(error: unknown): Told {
  const { name } = error instanceof Error ? error : { name: "unknown" };
  return { kind: "failed", problem: `it cannot be read (${name})`, afterMs: null };
}
