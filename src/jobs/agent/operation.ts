import type { Json } from "../core/job.js";

/** What an operation is told beside its payload. */
export interface OperationContext {
  readonly jobId: string;
  /** Raised each time that the job is handed out: pass it on to what must tell an old attempt from a new one. */
  readonly jobEpoch: number;
  /** The how-many-th attempt this is. */
  readonly attempt: number;
  /** Aborted when the work is in vain: its time is over, the job is another's or cancelled, or the agent stops. */
  readonly signal: AbortSignal;
  /** Tells how far it is. Only the last word counts; it travels with the next renewal of the lease. */
  progress(value: Json): void;
}

/**
 * What an agent does with a job of this name. Whoever writes one says what its payloads are: `({ n }: { n: number }) => 2 * n`.
 *
 * What it returns is the job's result, and must be JSON. What it throws is the job's error, and the job is tried again; with
 * `retry: false` on it (`FinalError` has it) it is not. A job can be handed out more than once: an operation has to bear that.
 */
export type Operation = (payload: never, context: OperationContext) => unknown;

/** Operations by their names. */
export type Operations = Readonly<Record<string, Operation>>;

/** Thrown by an operation for a job that no further attempt would help. */
export class FinalError extends Error {
  readonly retry = false;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "FinalError";
  }
}
