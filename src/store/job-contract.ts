import type { Agent } from "../jobs/core/agent.js";
import type { Job, JobState, Json } from "../jobs/core/job.js";
import type { FenceToken } from "./fence-token.js";
import type { JobAnswer, JobOrder } from "./job-orders.js";
import type { Page } from "./page.js";

/**
 * What the jobs room needs of a database, in its own words. Only the leader of `scheduler` writes, but for `compact`, which is
 * that of `log_compactor`'s; and every write commits only while the epoch of its fence leads (R8). All state is here: a new leader loads nothing, and goes on.
 *
 * Writes of many callers are one commit: `apply` takes orders of all kinds and answers each. What is not known to have been done
 * is asked for again as it was: a submission has its job's id, a lease its own, a result its job's epoch, and none is done twice.
 */
export interface JobBook {
  /**
   * All of them in one transaction, or none: by kind, first results, renewals, give-backs, cancellations, redrives,
   * submissions, heartbeats, removals of agents, and leases last, so that what came free is handed out at once. Those of one kind
   * in the order given; but results that count come before those that do not. What an order may not do is its answer, and
   * stops no other.
   */
  apply(fence: FenceToken, orders: readonly JobOrder[]): Promise<JobReply>;
  /**
   * What has waited long enough is ready, and what its agent kept too long goes back or is dead: up to `limit` of each. Costs two
   * looks at an index where nothing is due.
   */
  ripen(fence: FenceToken, limit: number): Promise<Ripening>;
  /** Forgets what is finished and old, a slice at a time. */
  compact(fence: FenceToken, order: CompactOrder): Promise<Compaction>;

  job(jobId: string): Promise<Job | null>;
  /** Newest first. A page may hold fewer than asked for, and even none, while there are more: `next` says where to go on. */
  jobs(filter: JobFilter, page: Page): Promise<JobPage>;
  standing(): Promise<JobStanding>;
  /** What happened after the cursor, in order and without a gap. Without a cursor it is a reset, which tells where to begin. */
  events(after: EventCursor | null, limit: number): Promise<EventReading>;
  agents(): Promise<readonly Agent[]>;
}

export interface JobReply {
  /** One for each order, in the order given. */
  readonly answers: readonly JobAnswer[];
  /** In how long there is something to ripen; null where nothing waits and nothing is leased. */
  readonly nextDueMs: number | null;
}

export interface Ripening {
  /** Jobs that waited and are ready now. */
  readonly ripened: number;
  /** Jobs that were taken from their agents, and what became of them. */
  readonly lost: readonly { readonly jobId: string; readonly agent: string; readonly state: JobState }[];
  readonly nextDueMs: number | null;
}

export interface CompactOrder {
  /** Jobs in these states that have not changed for so long. */
  readonly states: readonly JobState[];
  readonly jobsOlderThanMs: number;
  /** The newest event always stays: its number is where the next one goes on. */
  readonly eventsOlderThanMs: number;
  /** Tombstones, and agents not heard of for so long. */
  readonly agentsOlderThanMs: number;
  /** Jobs are looked at from this `n` on; 0 is the start. */
  readonly from: number;
  /** How many jobs are looked at, and how many events go, at most. */
  readonly limit: number;
}

export interface Compaction {
  readonly jobs: number;
  readonly events: number;
  readonly agents: number;
  /** Where the next slice of jobs begins; null when this was the last, or those that follow are not old enough. */
  readonly next: number | null;
}

export interface JobFilter {
  readonly state?: JobState;
  readonly op?: string;
  readonly namespace?: string;
  readonly agent?: string;
  /** Submitted at or after this. Milliseconds since 1970. */
  readonly since?: number;
}

export interface JobPage {
  readonly jobs: readonly Job[];
  /** What `before` has to be for the next page; null at the end. */
  readonly next: string | null;
}

export interface JobStanding {
  /** Of the jobs that are there: counted when they change, never by going through them. */
  readonly counts: Readonly<Record<JobState, number>>;
  /** How many were ever submitted. */
  readonly submitted: number;
  /** For how long the first job of those that are ready has been so; null where none is. */
  readonly oldestReadyMs: number | null;
  readonly nextDueMs: number | null;
}

export interface EventCursor {
  /** Of another database, or of this one before it was restored, where it is not the stream's own. */
  readonly generation: string;
  readonly id: number;
}

export interface StoredEvent {
  readonly id: number;
  readonly at: number;
  readonly kind: string;
  readonly data: Json;
  readonly leaderEpoch: bigint;
}

export type EventReading =
  | { readonly kind: "events"; readonly generation: string; readonly events: readonly StoredEvent[] }
  /** What follows the cursor is not known here, or no longer: whoever reads has to begin anew, after `last`. */
  | { readonly kind: "reset"; readonly generation: string; readonly last: number };
