import type { Json } from "../jobs/core/job.js";

/**
 * What the workers of the cluster and the leader of `scheduler` say to each other, as rows. A book of letters, and no more: what they
 * mean is the jobs room's. Nothing here is fenced, for an answer only tells what a fenced write has done, and nothing has
 * to outlive a crash of the database: whoever finds his order gone asks again.
 *
 * A store also tells `registry.follow` of letters as they come (`worker_order`, `worker_answer`); that is a hint, and may be lost.
 */
export interface WorkerBook {
  /** Of this process. The same id again changes nothing. */
  send(id: string, body: Json): Promise<void>;
  /** Nobody waits for it any more. Answers with what had been answered by then; null where nothing was. */
  withdraw(id: string): Promise<Json>;
  /** The answers for this process, each of them once, and the ids of its orders that have none yet. */
  collect(): Promise<Collection>;

  /** For the leader: what living processes wait for, the oldest first. `known`: those whose body need not be read again. */
  pending(known: readonly string[], nodeTimeoutMs: number): Promise<readonly PendingOrder[]>;
  /** The first answer counts. One to an order that was withdrawn is dropped. */
  answer(answers: readonly OrderAnswer[]): Promise<void>;
  /** Leases whose process lives no more; what it waited for is forgotten. The id of a worker's lease names its process. */
  forsaken(nodeTimeoutMs: number): Promise<readonly ForsakenLease[]>;
}

export interface Collection {
  readonly answers: readonly OrderAnswer[];
  readonly waiting: readonly string[];
}

export interface OrderAnswer {
  readonly id: string;
  readonly answer: Json;
}

export interface PendingOrder {
  readonly id: string;
  readonly nodeId: string;
  readonly incarnation: string;
  /** Null where it is known. */
  readonly body: Json;
}

export interface ForsakenLease {
  readonly agent: string;
  readonly leaseId: string;
}

/** How the id of a worker's lease begins: the stores look at it. */
export function workerLeasePrefix(incarnation: string): string {
  return `worker:${incarnation}:`;
}
