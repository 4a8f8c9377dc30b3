import type { Logger } from "pino";
import type { Clock } from "../../election/clock.js";

/** Something that came in, as its transport read it. */
export interface Arrival {
  readonly body: Buffer;
  /** Who sent it, for the log: an address and port, a path, a table. */
  readonly peer: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** What a resend of the same thing has in common with the first, where the transport knows. For HL7 it is the control id. */
  readonly key?: string;
}

/** What became of an arrival. Only `accepted` was committed. */
export type Receipt = Accepted | Refused;

export interface Accepted {
  readonly kind: "accepted";
  readonly id: string;
  readonly duplicate: boolean;
  /** Why it is malformed; it was kept all the same. */
  readonly malformed: string | null;
  /** The answer that is kept with the message. For a duplicate it is what the first one was answered. */
  readonly ack: Buffer | null;
}

/** The store is away, or the node stops: nothing was kept. */
export interface Refused {
  readonly kind: "refused";
  readonly reason: string;
  /** Whether the same arrival may be taken in later. */
  readonly retry: boolean;
}

export interface SourceParts<Settings> {
  /** The connection's name in the graph. */
  readonly name: string;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Logger;
  /**
   * Commits the arrival. `ack` builds the answer for a receipt; it is called before the commit, with `ack: null`, so that
   * the answer is kept by the same commit, and the receipt then carries it. Never rejects: what goes wrong is a refusal.
   */
  accept(arrival: Arrival, ack: (receipt: Receipt) => Buffer | null): Promise<Receipt>;
  /** Called after every change of `state`. */
  readonly changed: (state: SourceState) => void;
}

export interface SourceState {
  readonly kind: "stopped" | "starting" | "listening" | "polling" | "failed";
  /** Why it failed, or why it is still starting. */
  readonly reason: string | null;
  /** How many connections are open; 0 where the transport has none. */
  readonly connections: number;
  /** Since when it is of this kind, by the wall clock, in milliseconds. */
  readonly since: number;
}

export interface Source {
  /** Resolves when it takes arrivals in. Rejects with a HoldfastError where it cannot, and is then `failed`. */
  start(): Promise<void>;
  /** Takes nothing in any more from the moment of the call, and is through within a bound. What was not committed is not acknowledged. */
  stop(): Promise<void>;
  readonly state: SourceState;
}

export interface Delivery {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly attempt: number;
  readonly idempotencyKey: string;
  /** The epoch of the claim under which this is delivered. */
  readonly epoch: bigint;
}

/** Throws where the claim's epoch leads no more. Called right before every outside write, with the claim's own epoch. */
export interface WriteGuard {
  mayWrite(): void;
}

export type DeliveryOutcome =
  | { readonly kind: "delivered"; readonly reply: Buffer | null }
  /** The other side has it and does not want it: not now (`retry`), or never. */
  | { readonly kind: "rejected"; readonly reason: string; readonly retry: boolean; readonly retryAfterMs?: number }
  /** Nothing was written. */
  | { readonly kind: "unreached"; readonly reason: string }
  /** It was written, at least in part, and no answer tells what became of it. */
  | { readonly kind: "unconfirmed"; readonly reason: string };

export interface DestinationParts<Settings> {
  readonly name: string;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Logger;
  readonly changed: (state: DestinationState) => void;
}

export interface DestinationState {
  readonly kind: "idle" | "connecting" | "connected" | "failed" | "closed";
  readonly reason: string | null;
  readonly since: number;
}

export interface Destination {
  /**
   * One at a time. Rejects only with what the guard threw: nothing was written then. An abort ends it at once, as `unreached`
   * before the write and `unconfirmed` after it.
   */
  send(delivery: Delivery, guard: WriteGuard, signal: AbortSignal): Promise<DeliveryOutcome>;
  close(): Promise<void>;
  readonly state: DestinationState;
}

/** One line that says what is wrong with a setting, where, and what it should be. */
export type Problem = string;

/** What a check of settings answers: the settings with their defaults, or every problem at once. */
export type Checked<Settings> = Settings | Problem[];
