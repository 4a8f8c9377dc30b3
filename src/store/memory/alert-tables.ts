import type { Notification, StoredAlert, StoredSamples } from "../alert-contract.js";

export interface MemoryNotification extends Notification {
  readonly id: number;
  readonly at: number;
  dueAt: number;
  attempts: number;
  lease: string | null;
  leasedUntil: number;
  doneAt: number | null;
  outcome: "sent" | "given_up" | null;
  problem: string | null;
}

/** The alerts of a cluster in memory. */
export class MemoryAlertTables {
  version = 0;
  round = 0;
  at: number | null = null;
  samples: readonly StoredSamples[] = [];
  lastSample = 0;
  readonly alerts = new Map<string, StoredAlert>();
  notifications: MemoryNotification[] = [];
  lastNotification = 0;
}
