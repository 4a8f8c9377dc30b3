import { invariant } from "../../errors.js";
import type { Agent } from "../../jobs/core/agent.js";
import type { Job, JobState, Json } from "../../jobs/core/job.js";
import type { StoredEvent } from "../job-contract.js";
import type { JobAnswer, JobOrder, LeaseAnswer, Task } from "../job-orders.js";

/** How the rows and answers of the jobs room read in TypeScript. Numbers stay below 2^53. */

export interface JobJson {
  n: string;
  job_id: string;
  namespace: string;
  op: string;
  payload: Json;
  state: JobState;
  priority: number;
  capabilities: string[];
  pinned_agent: string;
  waits_until: number | null;
  timeout_ms: string;
  attempts: number;
  max_attempts: number;
  job_epoch: number;
  leader_epoch: string;
  lease_id: string | null;
  agent: string | null;
  progress: Json;
  result: Json;
  error: string | null;
  idempotency_key: string | null;
  cron: string | null;
  tick: number | null;
  created_at: number;
  updated_at: number;
}

export function readJob(row: JobJson): Job {
  return {
    jobId: row.job_id,
    n: Number(row.n),
    namespace: row.namespace,
    op: row.op,
    payload: row.payload,
    state: row.state,
    priority: row.priority,
    capabilities: row.capabilities,
    pinnedAgent: row.pinned_agent === "" ? null : row.pinned_agent,
    waitsUntil: row.waits_until,
    timeoutMs: Number(row.timeout_ms),
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    jobEpoch: row.job_epoch,
    leaderEpoch: BigInt(row.leader_epoch),
    leaseId: row.lease_id,
    agent: row.agent,
    progress: row.progress,
    result: row.result,
    error: row.error,
    idempotencyKey: row.idempotency_key,
    cron: row.cron,
    tick: row.tick,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

export interface AgentJson {
  name: string;
  namespace: string;
  capabilities: string[];
  version: string | null;
  tasks: number;
  first_seen: number;
  last_heartbeat: number;
  silent_ms: number;
  deleted_at: number | null;
}

export function readAgent(row: AgentJson): Agent {
  const { first_seen, last_heartbeat, silent_ms, deleted_at, ...rest } = row;
  return { ...rest, firstSeen: first_seen, lastHeartbeat: last_heartbeat, silentMs: silent_ms, deletedAt: deleted_at };
}

/** A row that stands for `number` events, the last of which has its id. */
export interface EventsJson {
  id: number;
  number: number;
  at: number;
  leader_epoch: number;
  kind: string;
  data: Json;
}

/** A value for each job, or the one that all have. */
type Column<Value> = Value | readonly Value[];
type MovedJson = [
  jobIds: Column<string>,
  ops: Column<string>,
  namespaces: Column<string>,
  states: Column<JobState>,
  jobEpochs: Column<number>,
  agents: Column<string | null>,
];

export function readEvents({ id, number, at, leader_epoch, kind, data }: EventsJson): readonly StoredEvent[] {
  const leaderEpoch = BigInt(leader_epoch);
  if (kind !== "jobs") return [{ id, at, kind, data, leaderEpoch }];
  const [jobIds, ops, namespaces, states, jobEpochs, agents] = data as unknown as MovedJson;
  return Array.from({ length: number }, (_, index) => {
    const state = valueAt(states, index);
    const agent = valueAt(agents, index);
    const told = {
      job_id: valueAt(jobIds, index),
      op: valueAt(ops, index),
      namespace: valueAt(namespaces, index),
      state,
      job_epoch: valueAt(jobEpochs, index),
    };
    const of = agent === null ? told : { ...told, agent };
    return { id: id - number + 1 + index, at, kind: `job.${state}`, data: of, leaderEpoch };
  });
}

function valueAt<Value extends string | number | null>(column: Column<Value>, index: number): Value {
  return Array.isArray(column) ? (column[index] as Value) : (column as Value);
}

type ExistingJson = { job_id: string; job_epoch: number; state: JobState; same: boolean };
type MissedJson =
  | { kind: "accepted"; state: JobState }
  | { kind: "stale"; expected: number }
  | { kind: "unknown" | "foreign" };
type LeaseJson = { kind: "none" | "foreign" | "deleted" } | { kind: "leased"; expires_at: number };
type RenewalJson = { kind: "unknown" | "foreign" } | { kind: "renewed"; expires_at: number; job_ids: string[] };

/** Null where all were accepted, and are successes. */
export type ResultsJson = { accepted: Record<string, JobState>; missed: Record<string, MissedJson> } | null;

/** What is leased under a lease, in columns. */
export interface TasksJson {
  readonly lease_id: string;
  readonly namespace: string;
  readonly job_ids: readonly string[];
  readonly job_epochs: readonly number[];
  readonly ops: readonly string[];
  readonly attempts: readonly number[];
  readonly max_attempts: readonly number[];
  readonly timeouts: readonly number[];
  /** JSON, one after the other, with `betweenPayloads` in between. */
  readonly payloads: string;
}

export interface ReplyJson {
  readonly renewals: readonly RenewalJson[] | null;
  readonly give_backs: readonly { job_id: string }[][] | null;
  readonly cancels: readonly ({ kind: "cancelled" | "unknown" } | { kind: "finished"; state: JobState })[] | null;
  readonly redrives: readonly ({ kind: "redriven" | "unknown" } | { kind: "unneeded"; state: JobState })[] | null;
  /** Null, or nothing in its place, where the job is new. */
  readonly submits: readonly (ExistingJson | null)[] | null;
  readonly demands: readonly number[] | null;
  readonly heartbeats: readonly { kind: "seen" | "deleted" }[] | null;
  readonly removals: readonly { kind: "removed" | "unknown" }[] | null;
  readonly leases: readonly LeaseJson[] | null;
  readonly next_due_ms: number | null;
}

export interface WholeReply {
  readonly results: ResultsJson;
  readonly reply: ReplyJson;
  readonly tasks: ReadonlyMap<string, TasksJson>;
}

/** Answers come by kind; here each finds its order again. */
export function readAnswers(orders: readonly JobOrder[], whole: WholeReply): readonly JobAnswer[] {
  const read = new Map<JobOrder["kind"], number>();
  return orders.map((order) => {
    const index = read.get(order.kind) ?? 0;
    read.set(order.kind, index + 1);
    return answerTo(order, index, whole);
  });
}

function answerTo(order: JobOrder, index: number, { results, reply, tasks }: WholeReply): JobAnswer {
  switch (order.kind) {
    case "submit": {
      const existing = reply.submits?.[index] ?? null;
      if (existing === null) return { kind: "created", jobId: order.jobId, jobEpoch: 0, state: "queued", same: true };
      const { job_id, job_epoch, state, same } = existing;
      return { kind: "existing", jobId: job_id, jobEpoch: job_epoch, state, same };
    }
    case "result": {
      const state = results === null ? "succeeded" : results.accepted[index + 1];
      if (state !== undefined) return { kind: "accepted", state, repeated: false };
      const missed = told(results?.missed[index + 1]);
      return missed.kind === "accepted" ? { ...missed, repeated: true } : missed;
    }
    case "lease":
      return readLease(order.leaseId, told(reply.leases?.[index]), tasks);
    case "renew": {
      const answer = told(reply.renewals?.[index]);
      if (answer.kind !== "renewed") return { kind: answer.kind };
      return { kind: "renewed", expiresAt: answer.expires_at, jobIds: answer.job_ids };
    }
    case "give_back":
      return { kind: "given_back", jobIds: told(reply.give_backs?.[index]).map(({ job_id }) => job_id) };
    case "cancel":
      return told(reply.cancels?.[index]);
    case "redrive":
      return told(reply.redrives?.[index]);
    case "heartbeat":
      return told(reply.heartbeats?.[index]);
    case "remove_agent":
      return told(reply.removals?.[index]);
  }
}

function readLease(leaseId: string, answer: LeaseJson, tasks: WholeReply["tasks"]): LeaseAnswer {
  if (answer.kind !== "leased") return { kind: answer.kind };
  return { kind: "leased", leaseId, expiresAt: answer.expires_at, tasks: readTasks(told(tasks.get(leaseId))) };
}

/** Valid JSON never holds it: within a string it would be written as an escape. */
const betweenPayloads = "\u001e";

function readTasks(json: TasksJson): readonly Task[] {
  const { namespace } = json;
  const payloads = json.payloads.split(betweenPayloads);
  return json.job_ids.map((jobId, index) => ({
    jobId,
    jobEpoch: json.job_epochs[index] as number,
    op: json.ops[index] as string,
    payloadText: payloads[index] as string,
    namespace,
    attempt: json.attempts[index] as number,
    maxAttempts: json.max_attempts[index] as number,
    timeoutMs: json.timeouts[index] as number,
  }));
}

function told<Answer>(answer: Answer | undefined): Answer {
  invariant(answer !== undefined, "every order has an answer");
  return answer;
}
