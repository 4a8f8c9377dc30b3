import type { Holder } from "../election/core/lease.js";
import type { Json } from "../jobs/core/job.js";
import type { FenceToken } from "./fence-token.js";
import type { StepKind } from "./journal.js";
import type { Page } from "./page.js";
import type { DeadLetter, LaneName } from "./queue-contract.js";

/** The queue that messages of the engine go through, and its stages. */
export const engineQueue = "engine";
export const engineStages = { ingress: "ingress", routed: "routed", outbound: "outbound" } as const;
/** The header in which every message of that queue carries the id of the received one it comes from. */
export const messageIdHeader = "id";

/** Longer ones are cut, with a mark at their end: what a sender puts there may be anything. */
export const longestType = 100;
export const longestControlId = 200;
export const longestConnection = 200;

/**
 * What the message engine needs of a database beside its queue. The journal itself is written by the commits of the queue
 * (src/store/journal.ts); here it is read, searched, indexed and forgotten. Every write of the leader is fenced (R8).
 */
export interface EngineBook {
  /** Where a new leader goes on counting: behind all that there is. Opens a partition where there is no room. */
  nextMessageId(fence: FenceToken): Promise<IdRange>;
  /** A new partition, for what comes from now on: the last one can be dropped as soon as it is old. */
  openPartition(fence: FenceToken): Promise<IdRange>;
  /** For how long the newest partition has been taking messages in; 0 where there is none. The newest is never dropped. */
  partitionAgeMs(): Promise<number>;
  /** Forgets the messages and steps of partitions whose newest message is older than this. Answers with how many there were. */
  dropPartitions(fence: FenceToken, olderThanMs: number): Promise<number>;
  /**
   * Newest first. A page may hold fewer than asked for, and even none, while there are more: `next` says where to go on. No
   * search takes long: what would is left for the next one.
   */
  search(filter: MessageFilter, page: Page): Promise<FoundMessages>;
  /** These messages, newest first; those that are not there, or not any more, are left out. */
  rows(ids: readonly string[]): Promise<readonly MessageRow[]>;
  /** The message with all that became of it; null where there is none, or none any more. */
  message(id: string): Promise<MessageAccount | null>;
  /** As it came; null where its body is kept no more. */
  bodyOf(id: string): Promise<Buffer | null>;
  /** What was sent by this step, counted from 1 as `message` shows them; null where that is kept no more. */
  sentBodyOf(id: string, step: number): Promise<Buffer | null>;
  /** What was answered to the message at this place; null where nothing was, or where it is kept no more. */
  ackOf(place: { readonly lane: number; readonly position: number }): Promise<ReceivedAnswer | null>;
  /** Makes the words of the next messages findable by an index. Answers with how many; 0 where too few are there yet. */
  indexWords(fence: FenceToken, limit: number): Promise<number>;
  /**
   * What waits in lanes that nobody works on any more goes to the dead letters, up to `limit` of them. Lanes that have something
   * in flight are left alone.
   */
  departed(fence: FenceToken, lanes: readonly DepartedLane[], limit: number): Promise<number>;
  /**
   * How many messages are received, routed and in error now, by connection. Others are counted as they happen. What an outbound
   * could not deliver is in error there, and at the inbound that it came in by.
   */
  standing(): Promise<readonly ConnectionStanding[]>;

  /** How far each namespace is: a node that has this version has all of it. */
  stateVersions(): Promise<ReadonlyMap<string, number>>;
  /** What has changed since that version; 0 for all of it. */
  readState(namespace: string, sinceVersion: number): Promise<StateReading>;
  /** All rows at once in place of those before. The same hash changes nothing. */
  publishReference(fence: FenceToken, set: ReferenceSet): Promise<ReferenceVersion>;
  referenceVersions(): Promise<readonly ReferenceVersion[]>;
  /** Null where another version is there by now. */
  readReference(name: string, version: number): Promise<readonly ReferenceRow[] | null>;
  /** The sets that could not be built when they were last tried, in place of those told before. */
  tellReferenceFailures(fence: FenceToken, failures: readonly Omit<ReferenceFailure, "failedAt">[]): Promise<void>;
  referenceFailures(): Promise<readonly ReferenceFailure[]>;

  /** Every node hears of it with its next beat, and loads its configuration anew. Any node may. */
  raiseConfigVersion(): Promise<number>;
  /** The newest there is, whoever runs it. */
  configVersion(): Promise<number>;
  /** What this node runs. Kept as long as its process is the node's. */
  publishConfig(node: Pick<Holder, "nodeId" | "incarnation">, config: RunningConfig): Promise<void>;
  configs(): Promise<readonly NodeConfig[]>;
}

/** Ids from `next` to below `end` can be given. */
export interface IdRange {
  readonly next: number;
  readonly end: number;
}

/**
 * received, routed: it waits in that stage. error: it is a dead letter that was not redriven. The others are steps: a message
 * that went to several handlers may be of several.
 */
export type MessageStatus = "received" | "routed" | "error" | StepKind;

export interface MessageFilter {
  /** Milliseconds since 1970; from the first to before the second. */
  readonly from?: number | undefined;
  readonly until?: number | undefined;
  readonly connection?: string | undefined;
  /** `ADT^A01`, or all of a kind: `ADT`. */
  readonly type?: string | undefined;
  readonly controlId?: string | undefined;
  readonly status?: MessageStatus | undefined;
  /** Whole words, all of them, in whatever order. */
  readonly text?: string | undefined;
}

export interface FoundMessages {
  readonly items: readonly MessageRow[];
  /** Where to go on; null where all has been looked through. */
  readonly next: string | null;
}

export interface MessageRow {
  readonly id: string;
  readonly receivedAt: number;
  readonly connection: string;
  readonly type: string;
  readonly controlId: string;
  readonly size: number;
  readonly replayOf: string | null;
  /**
   * Received, or what it has been through and whether it is in error. Routed where it has been through nothing yet: of one that
   * some handlers have done and others not, the list does not tell that it waits, and its account does.
   */
  readonly statuses: readonly MessageStatus[];
}

export interface MessageStep {
  /** Counted from 1. */
  readonly step: number;
  readonly kind: StepKind;
  readonly at: number;
  readonly stage: string;
  readonly lane: string;
  readonly position: number;
  readonly detail: Json;
}

export interface MessageAccount extends MessageRow {
  readonly ack: Buffer | null;
  readonly steps: readonly MessageStep[];
  readonly deadLetters: readonly DeadLetter[];
  /** What of it waits, or is being worked on: of each lane at least the next 10,000 messages are looked through. */
  readonly pending: readonly PendingPlace[];
}

export interface PendingPlace extends LaneName {
  readonly position: number;
}

export interface ReceivedAnswer {
  readonly id: string;
  readonly ack: Buffer | null;
}

export interface DepartedLane extends LaneName {
  readonly reason: string;
}

export interface ConnectionStanding {
  readonly connection: string;
  readonly received: number;
  readonly routed: number;
  readonly error: number;
}

export interface StateReading {
  readonly version: number;
  /** `value` is undefined where it was forgotten. */
  readonly entries: readonly { readonly key: string; readonly value: Json | undefined }[];
}

export interface ReferenceRow {
  readonly key: string;
  readonly value: Json;
}

export interface ReferenceSet {
  readonly name: string;
  readonly hash: string;
  readonly rows: readonly ReferenceRow[];
}

export interface ReferenceVersion {
  readonly name: string;
  readonly version: number;
  readonly hash: string;
  readonly rows: number;
  readonly publishedAt: number;
}

export interface ReferenceFailure {
  readonly name: string;
  readonly reason: string;
  /** Since when it fails for this reason, in milliseconds since 1970. */
  readonly failedAt: number;
}

export interface RunningConfig {
  /** The shared version that was loaded last. */
  readonly version: number;
  /** Of the directory as it is, whether or not it could be loaded. */
  readonly hash: string;
  /** Why what is there is not what runs. */
  readonly error: string | null;
}

export interface NodeConfig extends RunningConfig {
  readonly nodeId: string;
}
