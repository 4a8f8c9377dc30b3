/** Where a job stands. `failed` is final; `dead` has used up its attempts. Both, and `cancelled`, can be redriven. */
export const jobStates = ["queued", "leased", "succeeded", "failed", "dead", "cancelled"] as const;

/** The states of a job: `failed` is final, `dead` has used up its attempts. */
export type JobState = (typeof jobStates)[number];

/** Whatever JSON can say. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** What a job asks of whoever takes it. */
export interface Demand {
  readonly namespace: string;
  /** An agent needs all of them. */
  readonly capabilities: readonly string[];
  /** Nobody else may take it. */
  readonly pinnedAgent: string | null;
}

/** A job as it is seen. Times are milliseconds since 1970, by the database's clock. */
export interface Job extends Demand {
  readonly jobId: string;
  /** Counts the submissions up: the order in which jobs of one priority are handed out. */
  readonly n: number;
  readonly op: string;
  readonly payload: Json;
  readonly state: JobState;
  /** 0 to 3, 3 first. */
  readonly priority: number;
  /** Queued, but not before this: `run_at`, or the pause after a failure. */
  readonly waitsUntil: number | null;
  /** How long one attempt may take, however often its lease is renewed. */
  readonly timeoutMs: number;
  readonly attempts: number;
  readonly maxAttempts: number;
  /** Raised by every lease. */
  readonly jobEpoch: number;
  /** The epoch of the leader who changed it last. */
  readonly leaderEpoch: bigint;
  readonly leaseId: string | null;
  /** Who has it, or who had it last where it is finished. */
  readonly agent: string | null;
  readonly progress: Json;
  readonly result: Json;
  readonly error: string | null;
  readonly idempotencyKey: string | null;
  /** The cron and the tick that made it. */
  readonly cron: string | null;
  readonly tick: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Nothing more happens to it, unless somebody redrives it. */
export function isFinished(state: JobState): boolean {
  return state !== "queued" && state !== "leased";
}

export function isRedrivable(state: JobState): boolean {
  return state === "failed" || state === "dead" || state === "cancelled";
}

/** Whether an agent may take a job that asks for this. */
export function suits(
  { namespace, capabilities, pinnedAgent }: Demand,
  agent: { readonly agent: string; readonly namespace: string; readonly capabilities: readonly string[] },
): boolean {
  if (namespace !== agent.namespace || (pinnedAgent ?? agent.agent) !== agent.agent) return false;
  return capabilities.every((capability) => agent.capabilities.includes(capability));
}
