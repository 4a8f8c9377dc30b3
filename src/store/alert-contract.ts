import type { AlertState } from "../alerts/core/alert-state.js";
import type { Json } from "../jobs/core/job.js";

/**
 * What the cluster knows of its alerts. Nothing here is fenced: rules are evaluated also while nobody leads. Instead whoever writes
 * names the version and the round that it has read, and writes nothing where somebody else was faster. All times are the
 * database's, in milliseconds since 1970.
 */
export interface AlertBook {
  /** As of one moment. What the caller has already is not sent again. */
  look(known: KnownAlerts): Promise<AlertLook>;
  /** Leaves a copy of this process's metrics for the others, and looks: one statement, since every node does both all the time. */
  exchange(metrics: string, known: KnownAlerts): Promise<AlertLook>;
  /** All of it or nothing. */
  keep(order: AlertOrder): Promise<"kept" | "overtaken">;
  /** Those that fire first, then those that may, then what is over, the latest first; each with whom was told. */
  list(limit: number): Promise<readonly ListedAlert[]>;

  /**
   * Notifications that are due, for so long: of one alert and target only the first that waits, so that they are told in their order. What
   * nobody could tell for `patienceMs` is given up.
   */
  claim(order: ClaimOrder): Promise<readonly ClaimedNotification[]>;
  /** Answers false where the claim was over, and somebody else has it or had it. */
  settle(id: string, lease: string, outcome: NotificationOutcome): Promise<boolean>;
}

export interface StoredAlert extends AlertState {
  readonly condition: string;
  /** Whom it is told to. Names, and nothing secret. */
  readonly targets: readonly string[];
}

export interface ListedAlert extends StoredAlert {
  /** The latest first. */
  readonly notified: readonly ToldNotification[];
}

export interface ToldNotification {
  readonly target: string;
  readonly change: string;
  readonly at: number;
  readonly outcome: "waiting" | "sent" | "given_up";
  readonly attempts: number;
  /** What went wrong at the last attempt, if anything did. */
  readonly problem: string | null;
}

export interface KnownAlerts {
  readonly version: number | null;
  /** The id of the newest round of samples that is known. */
  readonly sample: string | null;
  /** How far back samples are of use. */
  readonly backMs: number;
}

export interface AlertLook {
  readonly now: number;
  readonly version: number;
  readonly round: number;
  /** Since the last round; null before the first. */
  readonly ageMs: number | null;
  /** Null where the version is the one that is known. */
  readonly alerts: readonly StoredAlert[] | null;
  /** What was not told yet, the oldest first, at most 100. */
  readonly waiting: readonly Notification[];
  /** Oldest first. */
  readonly samples: readonly StoredSamples[];
}

export interface StoredSamples {
  readonly id: string;
  readonly at: number;
  readonly text: string;
}

/** One change of one alert, to be told to one target. */
export interface Notification {
  readonly alertId: string;
  readonly change: number;
  readonly target: string;
  readonly body: Json;
}

export interface AlertOrder {
  readonly nodeId: string;
  readonly version: number;
  readonly round: number;
  /** Null where this is no round. */
  readonly sample: { readonly at: number; readonly text: string; readonly keptMs: number } | null;
  /** As they are from now on. The others stay. */
  readonly alerts: readonly StoredAlert[];
  /** Alerts that are no more. */
  readonly gone: readonly string[];
  /** `told`: by whoever writes this. */
  readonly notifications: readonly (Notification & { readonly told: boolean })[];
  /** Notifications of before that were told meanwhile. */
  readonly told: readonly Omit<Notification, "body">[];
  /** What was resolved so long ago goes, and so does what was told; null keeps both. */
  readonly forgetAfterMs: number | null;
}

export interface ClaimOrder {
  /** A new one for each claim. */
  readonly lease: string;
  readonly targets: readonly string[];
  readonly leaseMs: number;
  readonly patienceMs: number;
  readonly limit: number;
}

export interface ClaimedNotification {
  readonly id: string;
  readonly target: string;
  readonly body: Json;
  /** This one included. */
  readonly attempts: number;
}

export type NotificationOutcome =
  | { readonly kind: "sent" }
  | { readonly kind: "failed"; readonly problem: string; readonly retryMs: number };
