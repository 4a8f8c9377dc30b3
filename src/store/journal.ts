import type { Json } from "../jobs/core/job.js";

/**
 * What the queue's own commits write beside messages, for the message engine: what was received, what became of it, and what
 * handlers keep. A line is there if, and only if, what it tells of is (docs/adr/0027).
 */

/** A message was taken in. Its place is that of the message it comes with. */
export interface ReceivedLine {
  /** Given by the leader, in the order of its commits. */
  readonly id: number;
  readonly connection: string;
  readonly type: string;
  readonly controlId: string;
  readonly lane: number;
  readonly position: number;
  readonly size: number;
  /** What was answered; a duplicate is answered the same. */
  readonly ack: Buffer | null;
  /** The message that this one repeats. */
  readonly replayOf: number | null;
}

export type StepKind = "unrouted" | "filtered" | "processed" | "sent";

/** What became of a message. One that goes to several handlers has a step for each. */
export interface StepLine {
  /** The message's. */
  readonly id: number;
  readonly kind: StepKind;
  readonly stage: string;
  /** The lane's name. */
  readonly lane: string;
  /** Of the message in that lane which was finished by this step; 0 where it went through without ever lying there. */
  readonly position: number;
  readonly detail: Json;
}

/** A handler keeps something under a name, or forgets it: `undefined`. */
export interface StateWrite {
  readonly namespace: string;
  readonly key: string;
  readonly value: Json | undefined;
}

/** What a settlement writes with it. */
export interface SettledJournal {
  readonly steps: readonly StepLine[];
  readonly state: readonly StateWrite[];
}
