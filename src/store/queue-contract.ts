import type { FenceToken } from "./fence-token.js";
import type { ReceivedLine, SettledJournal } from "./journal.js";
import type { Page } from "./page.js";

/**
 * What the queue needs of a database, in its own words. Every write is one transaction that commits only while the epoch of
 * its fence leads (R8): a leader that was deposed can neither take messages in nor hand any out.
 *
 * A lane is a log: messages are only ever added, at positions that count up without a gap, and a lane's row says up to which
 * one all are finished. Since one process at a time works on a queue, that is all the state there is: no row for each message
 * that is updated and deleted, and so nothing that grows or has to be swept up (docs/adr/0022).
 */
export interface QueueBook {
  /**
   * The first thing a new leader does. What earlier epochs had in flight goes back to its lane's head. From the first time on
   * the queue belongs to the fence's role; the leader of another one is refused.
   */
  recover(fence: FenceToken, order: RecoverOrder): Promise<Recovery>;
  /** Makes lanes exist, and tells where each of them stands. */
  openLanes(
    fence: FenceToken,
    queue: string,
    lanes: readonly LaneName[],
    /** No message of a lane that is new goes to an older segment: none has to be looked for there. */
    segment?: number,
  ): Promise<readonly LaneRow[]>;
  /**
   * Takes messages in, at the positions given, all or none, and answers with how many. Asked again with the same ones, it adds
   * none: an unknown outcome is asked for again.
   */
  append(fence: FenceToken, batch: AppendBatch): Promise<number>;
  /** Which of these keys are taken in, and where: such a message is not taken in again. */
  findKeys(queue: string, keys: readonly string[]): Promise<ReadonlyMap<string, MessagePlace>>;
  /** The next messages of each of these lanes, in order; from then on they are in flight under the claim's number. */
  claim(fence: FenceToken, order: ClaimOrder): Promise<readonly StoredMessage[]>;
  /**
   * What became of claims, what their handlers produced and what they have to tell, all or nothing. Lanes whose claim is another
   * by now are named; where there is anything beside the claims, nothing is settled then.
   */
  settle(
    fence: FenceToken,
    settlements: readonly Settlement[],
    produced: AppendBatch | null,
    journal?: SettledJournal,
  ): Promise<readonly number[]>;
  /** Work that takes long keeps its claim. */
  renew(fence: FenceToken, lanes: readonly number[], leaseMs: number): Promise<void>;
  /** Gives back what is claimed and whose lease has run out: its claim's reply was lost. Answers with those lanes. */
  sweep(fence: FenceToken, queue: string): Promise<readonly LaneRow[]>;
  /** These lanes hold nothing, and nothing is on its way to them: a new leader need not look at them. */
  rest(fence: FenceToken, lanes: readonly number[]): Promise<void>;
  /**
   * From any process, whoever leads. Null where there is no such lane. Resuming also unblocks: a head that has failed for good
   * is tried again. The leader finds the lane among those that were steered.
   */
  setPaused(queue: string, lane: LaneName, paused: boolean): Promise<LaneRow | null>;
  /**
   * From any process: the head of a blocked lane goes to the dead letters with its last error, and the lane goes on. A lane
   * that is not blocked stays as it is.
   */
  skip(queue: string, lane: LaneName): Promise<SkipOutcome>;
  /** The lanes that somebody has steered since their leader last looked. Costs next to nothing where there is none. */
  steered(queue: string): Promise<readonly number[]>;
  /** How these lanes stand; from now on they count as looked at. */
  takeSteered(fence: FenceToken, lanes: readonly number[]): Promise<readonly LaneRow[]>;
  lanes(queue: string): Promise<readonly LaneRow[]>;
  /** The first messages that are not finished, without their bodies. */
  peek(lane: number, limit: number): Promise<readonly MessageHead[]>;
  deadLetters(queue: string, page: Page): Promise<readonly DeadLetter[]>;
  deadLetter(queue: string, id: string): Promise<DeadLetterWithBody | null>;
  /** In the order in which they died: those that are named, or the first that were not redriven yet. Without their bodies. */
  letters(queue: string, wish: LetterWish): Promise<readonly DeadLetter[]>;
  /**
   * Takes dead letters in again, as new messages at these places of their own lanes, all or none. Answers with those that may
   * go there: fewer than were named, and nothing was done. Asked again with the same places it answers alike and adds nothing,
   * so an unknown outcome is asked for again.
   */
  redrive(fence: FenceToken, order: RedriveOrder): Promise<readonly string[]>;
  /** A new segment for what comes from now on; the last one is closed, and can be dropped once it is old and finished. */
  openSegment(fence: FenceToken, queue: string): Promise<number>;
  /** Drops segments that were closed so long ago and hold nothing unfinished. */
  dropSegments(fence: FenceToken, queue: string, closedForMs: number): Promise<readonly number[]>;
}

/** A lane by its stage and name. */
export interface LaneName {
  readonly stage: string;
  readonly lane: string;
}

/** A lane as the database knows it. */
export interface LaneRow extends LaneName {
  readonly id: number;
  /** All messages up to this position are finished. */
  readonly done: number;
  /** The position of the newest message. */
  readonly tail: number;
  /** What the head has been through. */
  readonly attempts: number;
  readonly reclaims: number;
  /** The head waits for so long still; 0 where it does not. */
  readonly waitMs: number;
  readonly paused: boolean;
  readonly blocked: boolean;
  readonly lastError: string | null;
}

export type SkipOutcome =
  | { readonly kind: "skipped" | "not_blocked"; readonly lane: LaneRow }
  | { readonly kind: "no_lane" };

export interface RecoverOrder {
  readonly queue: string;
  /** A head that was in flight in more crashes than this goes to the dead letters. */
  readonly maxReclaims: number;
  /** Also what this very epoch has in flight, which costs nothing: its leader has lost track of it. */
  readonly own: boolean;
}

export interface Recovery {
  readonly segment: number;
  /** Every lane that may hold unfinished messages. */
  readonly lanes: readonly LaneRow[];
  readonly reclaimed: number;
  readonly quarantined: number;
}

export interface MessagePlace {
  readonly lane: number;
  readonly position: number;
}

export interface NewMessage extends MessagePlace {
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly body: Buffer;
}

export interface AppendBatch {
  readonly queue: string;
  readonly segment: number;
  readonly messages: readonly NewMessage[];
  /** Lanes at rest that now have something to do. */
  readonly waking: readonly number[];
  /** What the message engine writes of these messages, there if they are. */
  readonly journal?: readonly ReceivedLine[] | undefined;
}

export interface ClaimOrder {
  readonly queue: string;
  readonly claim: number;
  readonly leaseMs: number;
  readonly wishes: readonly ClaimWish[];
}

export interface ClaimWish {
  readonly lane: number;
  readonly limit: number;
  /**
   * The lane's next messages, which were taken in by whoever asks, and are still at hand. Just these are claimed, unless they
   * are not the next any more; and they are in the answer as they are here, and are not read.
   */
  readonly known?: readonly StoredMessage[] | undefined;
}

/** A message without its body. */
export interface MessageHead extends MessagePlace {
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly size: number;
  /** Milliseconds since 1970, by the database's clock. */
  readonly at: number;
}

export interface StoredMessage extends Omit<MessageHead, "size"> {
  readonly segment: number;
  /** How long ago it was taken in, by the database's clock. */
  readonly ageMs: number;
  readonly body: Buffer;
}

/** What became of a lane's claim. */
export interface Settlement {
  readonly lane: number;
  readonly claim: number;
  /** Finished up to here. */
  readonly done: number;
  /** The segment of that message; null where none was finished. */
  readonly doneSegment: number | null;
  /** The rest of the claim is still worked on; else it goes back, and costs no attempt. */
  readonly keeps: boolean;
  readonly head:
    | { readonly kind: "ready" }
    /** The next one has not been tried: its time comes after so long. */
    | { readonly kind: "delayed"; readonly waitMs: number }
    /** The next one failed, and is tried again after so long. */
    | { readonly kind: "retry"; readonly attempts: number; readonly waitMs: number; readonly error: string }
    /** The next one has failed for good, and holds its lane until somebody redrives or skips it. */
    | { readonly kind: "blocked"; readonly attempts: number; readonly error: string }
    /** The next one has failed for good, and makes way. */
    | { readonly kind: "dead"; readonly attempts: number; readonly error: string };
}

export interface LetterWish {
  readonly ids?: readonly string[] | undefined;
  readonly stage?: string | undefined;
  readonly lane?: string | undefined;
  readonly limit: number;
}

/** Headers of a message that was a dead letter have its id under this name. */
export const redrivenFrom = "x-holdfast-redriven-from";
/** A header of ours that holds a delay. It is looked at when the message has come to the head of its lane, and nobody else sees it. */
export const delayHeader = "x-holdfast-delay-ms";

export interface RedriveOrder {
  readonly queue: string;
  readonly segment: number;
  readonly letters: readonly (MessagePlace & { readonly id: string })[];
  /** Lanes at rest that now have something to do. */
  readonly waking: readonly number[];
}

/** A message that made way, without its body. */
export interface DeadLetter {
  readonly id: string;
  readonly stage: string;
  readonly lane: string;
  readonly position: number;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly reason: string;
  readonly attempts: number;
  readonly reclaims: number;
  readonly diedAt: number;
  readonly redrivenAt: number | null;
  /** The position that it was given then. */
  readonly redrivenTo: number | null;
}

export interface DeadLetterWithBody extends DeadLetter {
  readonly body: Buffer;
}
