import Type, { type Static } from "typebox";
import { HoldfastError } from "../errors.js";
import { type Job, type Json, jobStates } from "../jobs/core/job.js";
import type { SubmissionAnswer } from "../jobs/jobs.js";
import { jobLimits, type NewJob } from "../jobs/new-job.js";

import { epoch, exactly, nullable, secondsOf, secondsOrNull, time } from "./fields.js";

/** What jobs look like from outside. */

const named = { pattern: jobLimits.name.source } as const;
export const jobId = Type.String({ ...named, description: "A job's id" });
export const opName = Type.String({ ...named, description: "What is to be done" });
export const namespaceName = Type.String({ ...named, description: "default where none is named" });
export const agentName = Type.String({
  ...named,
  description: "An agent's name: a token of role agent is bound to its own",
});
export const capabilityNames = Type.Array(Type.String(named), { maxItems: jobLimits.capabilities });
export const statedEpoch = Type.Integer({
  minimum: 0,
  description: "A condition: where another epoch leads, nothing is done, and the answer is STALE_EPOCH",
});
export const jobState = Type.Enum([...jobStates]);
const moment = Type.Union([Type.Number(), Type.String({ maxLength: 40 })], {
  description: "Seconds since 1970, or a time as ISO 8601 writes it",
});

/** The most jobs, or results, of one request. */
export const mostAtOnce = 500;

export const newJobSchema = exactly({
  op: opName,
  payload: Type.Optional(Type.Unknown()),
  namespace: Type.Optional(namespaceName),
  job_id: Type.Optional(jobId),
  priority: Type.Optional(Type.Integer({ minimum: 0, maximum: 3, description: "3 first; 1 by default" })),
  capabilities: Type.Optional(capabilityNames),
  pinned_agent: Type.Optional(agentName),
  run_at: Type.Optional(moment),
  timeout_ms: Type.Optional(Type.Integer({ minimum: 1, maximum: jobLimits.timeoutMs })),
  max_attempts: Type.Optional(Type.Integer({ minimum: 1, maximum: jobLimits.attempts })),
  idempotency_key: Type.Optional(Type.String({ minLength: 1, maxLength: jobLimits.keyLength })),
  leader_epoch: Type.Optional(statedEpoch),
});

export const newJobsSchema = exactly({
  jobs: Type.Array(newJobSchema, { minItems: 1, maxItems: mostAtOnce }),
  leader_epoch: Type.Optional(statedEpoch),
});

const submittedFields = {
  job_id: Type.Optional(Type.String()),
  job_epoch: Type.Optional(Type.Integer({ minimum: 0 })),
  leader_epoch: Type.Optional(epoch),
  state: Type.Optional(jobState),
};

/** One job has the first four; many have `jobs`, each with the four or with an error. */
export const submittedSchema = exactly({
  ...submittedFields,
  jobs: Type.Optional(
    Type.Array(
      exactly({ ...submittedFields, error: Type.Optional(Type.String()), message: Type.Optional(Type.String()) }),
    ),
  ),
});

export const jobSchema = exactly({
  job_id: Type.String(),
  op: Type.String(),
  namespace: Type.String(),
  state: jobState,
  priority: Type.Integer(),
  attempts: Type.Integer(),
  max_attempts: Type.Integer(),
  job_epoch: Type.Integer(),
  leader_epoch: epoch,
  agent: nullable(Type.String({ description: "Who has it, or who had it last" })),
  progress: Type.Unknown(),
  result: Type.Unknown(),
  error: nullable(Type.String()),
  created_at: time,
  updated_at: time,
  run_at: nullable(Type.Number({ description: "Not before this: as it was submitted, or the pause after a failure" })),
  timeout_ms: Type.Integer(),
  capabilities: Type.Array(Type.String()),
  pinned_agent: nullable(Type.String()),
  idempotency_key: nullable(Type.String()),
  cron: nullable(Type.String()),
});

export const changedJobSchema = exactly({ job_id: Type.String(), state: jobState, leader_epoch: epoch });

export type JobView = Static<typeof jobSchema>;

export function showJob(job: Job): JobView {
  return {
    job_id: job.jobId,
    op: job.op,
    namespace: job.namespace,
    state: job.state,
    priority: job.priority,
    attempts: job.attempts,
    max_attempts: job.maxAttempts,
    job_epoch: job.jobEpoch,
    leader_epoch: Number(job.leaderEpoch),
    agent: job.agent,
    progress: job.progress,
    result: job.result,
    error: job.error,
    created_at: secondsOf(job.createdAt),
    updated_at: secondsOf(job.updatedAt),
    run_at: secondsOrNull(job.waitsUntil),
    timeout_ms: job.timeoutMs,
    capabilities: [...job.capabilities],
    pinned_agent: job.pinnedAgent,
    idempotency_key: job.idempotencyKey,
    cron: job.cron,
  };
}

export function newJobOf(body: Static<typeof newJobSchema>): NewJob {
  return {
    op: body.op,
    payload: body.payload as Json | undefined,
    namespace: body.namespace,
    jobId: body.job_id,
    priority: body.priority,
    capabilities: body.capabilities,
    pinnedAgent: body.pinned_agent,
    runAt: body.run_at === undefined ? undefined : momentOf("run_at", body.run_at),
    timeoutMs: body.timeout_ms,
    maxAttempts: body.max_attempts,
    idempotencyKey: body.idempotency_key,
  };
}

export function showSubmitted({ jobId: id, jobEpoch, state }: SubmissionAnswer, leaderEpoch: bigint) {
  return { job_id: id, job_epoch: jobEpoch, leader_epoch: Number(leaderEpoch), state };
}

/** An id or a key that another job has already: the caller means one of the two, and does not know it. */
export function takenBy({ kind, same, jobId: id }: SubmissionAnswer): HoldfastError | null {
  if (kind !== "existing" || same) return null;
  return new HoldfastError(
    "REFUSED",
    `Job "${id}" has this id or this idempotency_key already, with another operation or payload: choose another.`,
  );
}

export function momentOf(field: string, given: number | string): Date {
  const isNumber = typeof given === "number" || /^\d+(\.\d+)?$/.test(given);
  const date = isNumber ? new Date(Number(given) * 1_000) : new Date(given);
  const year = date.getUTCFullYear();
  if (year >= 1970 && year <= 9999) return date;
  const problem = "must be seconds since 1970, or a time as ISO 8601 writes it";
  throw new HoldfastError("INVALID_REQUEST", `${field} ${problem}.`, { details: { problems: [{ field, problem }] } });
}

export function foundJob<Thing>(id: string, thing: Thing | null): Thing {
  if (thing === null) throw new HoldfastError("NOT_FOUND", `There is no job "${id}".`);
  return thing;
}

export function refusedIn(state: string, id: string, act: string): HoldfastError {
  return new HoldfastError("REFUSED", `Job "${id}" is ${state}: it cannot be ${act}.`, { details: { state } });
}

export const bigOf = (stated: number | undefined): bigint | undefined =>
  stated === undefined ? undefined : BigInt(stated);
