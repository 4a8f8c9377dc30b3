import type { Demand, JobState, Json } from "../jobs/core/job.js";
import type { Backoff } from "../queue/core/backoff.js";

/** What the leader may be asked to do to jobs and agents, and what it is answered. */
export type JobOrder =
  | Submission
  | LeaseOrder
  | Renewal
  | Result
  | GiveBack
  | Cancellation
  | Redrive
  | Heartbeat
  | Removal;

export type JobAnswer =
  | SubmissionAnswer
  | LeaseAnswer
  | RenewalAnswer
  | ResultAnswer
  | GiveBackAnswer
  | CancellationAnswer
  | RedriveAnswer
  | HeartbeatAnswer
  | RemovalAnswer;

/** There is no such job, lease or agent. */
export interface Unknown {
  readonly kind: "unknown";
}

/** It is another agent's. */
export interface Foreign {
  readonly kind: "foreign";
}

/** The agent is a tombstone: it gets nothing until it registers anew. */
export interface Deleted {
  readonly kind: "deleted";
}

export interface Submission extends Demand {
  readonly kind: "submit";
  /** Chosen before it is sent, so that it can be sent again. One that grows with time (UUID 7) keeps the index small. */
  readonly jobId: string;
  /** The id was made for this very order: no job has it, unless the order was carried out before. */
  readonly hasNewId?: boolean;
  readonly op: string;
  readonly payload: Json;
  readonly priority: number;
  /** Not before this, in milliseconds since 1970 by the database's clock. */
  readonly runAt: number | null;
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  /** One of its kind in a namespace, for as long as the job is kept. */
  readonly idempotencyKey: string | null;
  readonly cron: string | null;
  readonly tick: number | null;
}

export interface SubmissionAnswer {
  /** `existing`: a job has this id or this key already, and nothing was submitted. */
  readonly kind: "created" | "existing";
  readonly jobId: string;
  readonly jobEpoch: number;
  readonly state: JobState;
  /** Where it exists: whether it is for the same operation with the same payload. */
  readonly same: boolean;
}

export interface LeaseOrder {
  readonly kind: "lease";
  /** Chosen before it is sent. Asked for again, it answers with what is still leased under it, and takes nothing more. */
  readonly leaseId: string;
  readonly agent: string;
  readonly namespace: string;
  readonly capabilities: readonly string[];
  readonly maxTasks: number;
  /** How long the agent may be silent. */
  readonly ttlMs: number;
}

export type LeaseAnswer =
  | {
      readonly kind: "leased";
      readonly leaseId: string;
      /** Milliseconds since 1970, by the database's clock. */
      readonly expiresAt: number;
      /** At least one. */
      readonly tasks: readonly Task[];
    }
  | { readonly kind: "none" }
  | Foreign
  | Deleted;

export interface Task {
  readonly jobId: string;
  readonly jobEpoch: number;
  readonly op: string;
  /** JSON as text: whoever only hands it on need not read it. */
  readonly payloadText: string;
  readonly namespace: string;
  /** The how-many-th attempt this is. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly timeoutMs: number;
}

export interface Renewal {
  readonly kind: "renew";
  readonly leaseId: string;
  readonly agent: string;
  readonly ttlMs: number;
  /** How far its jobs are. Those that are no longer leased under it stay as they are. */
  readonly progress: readonly { readonly jobId: string; readonly progress: Json }[];
}

export type RenewalAnswer =
  | {
      readonly kind: "renewed";
      readonly expiresAt: number;
      /** What is still leased under it. Whatever else it had is finished, cancelled or another's by now. */
      readonly jobIds: readonly string[];
    }
  | Unknown
  | Foreign;

export interface Result {
  readonly kind: "result";
  readonly jobId: string;
  readonly jobEpoch: number;
  readonly leaseId: string;
  readonly agent: string;
  readonly outcome:
    | { readonly kind: "succeeded"; readonly result: Json }
    /** Tried again after a pause, while it has attempts. `jitter`, from 0 to 1, shortens the pause by up to a fifth. */
    | { readonly kind: "failed"; readonly error: string; readonly backoff: Backoff; readonly jitter: number }
    /** Never tried again, whatever attempts it has. */
    | { readonly kind: "failed_for_good"; readonly error: string };
}

export type ResultAnswer =
  | {
      readonly kind: "accepted";
      readonly state: JobState;
      /** It was accepted before, and changed nothing now. */
      readonly repeated: boolean;
    }
  /** The lease is gone. `expected`: the epoch that a result would need, of the lease that runs or else of the next one. */
  | { readonly kind: "stale"; readonly expected: number }
  | Unknown
  | Foreign;

/** Jobs that were not worked on to an end, and it is nobody's failure: they are ready again, and it cost no attempt. */
export interface GiveBack {
  readonly kind: "give_back";
  readonly agent: string;
  /** Only what is leased under this; null: all that the agent has. */
  readonly leaseId: string | null;
  /** Only these; null: all. */
  readonly jobIds: readonly string[] | null;
  /** The process that had them is gone: a job that so many in a row did not survive is dead. */
  readonly mostCrashes?: number;
}

export interface GiveBackAnswer {
  readonly kind: "given_back";
  readonly jobIds: readonly string[];
}

export interface Cancellation {
  readonly kind: "cancel";
  readonly jobId: string;
}

/** `finished`: it was so already, in this state, and stays as it is. One that was cancelled is cancelled again. */
export type CancellationAnswer =
  | { readonly kind: "cancelled" }
  | { readonly kind: "finished"; readonly state: JobState }
  | Unknown;

export interface Redrive {
  readonly kind: "redrive";
  readonly jobId: string;
}

/** `unneeded`: it waits, is worked on or has succeeded, and stays as it is. */
export type RedriveAnswer =
  | { readonly kind: "redriven" }
  | { readonly kind: "unneeded"; readonly state: JobState }
  | Unknown;

export interface Heartbeat {
  readonly kind: "heartbeat";
  readonly agent: string;
  readonly namespace: string;
  readonly capabilities: readonly string[];
  readonly version: string | null;
  readonly tasks: number;
  /** The first of a process. It brings back an agent that was deleted; later ones do not. */
  readonly registers: boolean;
}

export type HeartbeatAnswer = { readonly kind: "seen" } | Deleted;

/** Leaves a tombstone. What the agent has is given back by an order of its own, in the same transaction where both are given. */
export interface Removal {
  readonly kind: "remove_agent";
  readonly agent: string;
}

export type RemovalAnswer = { readonly kind: "removed" } | Unknown;
