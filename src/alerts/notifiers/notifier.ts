import type { NotificationBody } from "../notification.js";

/** A way to tell somebody. It never throws, and what it says of a failure holds nothing secret. */
export interface Notifier {
  /** As metrics call it: its kind, and not whom it reaches. */
  readonly kind: "slack" | "pagerduty" | "webhook" | "log";
  send(body: NotificationBody, signal: AbortSignal): Promise<Told>;
}

export type Told =
  | { readonly kind: "sent" }
  /** `afterMs`: the other side asks to be left alone for so long. */
  | { readonly kind: "failed"; readonly problem: string; readonly afterMs: number | null };
