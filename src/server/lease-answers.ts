import Type, { type Static } from "typebox";
import { HoldfastError, StaleEpochError } from "../errors.js";
import type { Json } from "../jobs/core/job.js";
import type { LeaseAnswer, ResultAnswer } from "../jobs/jobs.js";
import { jobLimits } from "../jobs/new-job.js";
import type { ReportedResult } from "../jobs/reported-result.js";
import { errorAnswer } from "./error-answer.js";
import { epoch, exactly, secondsOf, time } from "./fields.js";
import { agentName, capabilityNames, jobId, jobState, mostAtOnce, namespaceName, statedEpoch } from "./job-answers.js";
import { limits } from "./limits.js";
import type { GuardedNode } from "./role-headers.js";

/** What the work of agents looks like from outside. */

export const leaseId = Type.String({ minLength: 1, maxLength: 200, description: "A lease's id" });
/** As far as the database counts. */
const highestJobEpoch = 2_147_483_647;
const jobEpoch = Type.Integer({
  minimum: 0,
  maximum: highestJobEpoch,
  description: "Raised by every lease of the job",
});

export const leaseWishSchema = exactly({
  agent: agentName,
  namespace: Type.Optional(namespaceName),
  capabilities: Type.Optional(capabilityNames),
  max_tasks: Type.Optional(Type.Integer({ minimum: 1, maximum: 64, description: "1 by default" })),
  timeout_ms: Type.Optional(
    Type.Integer({ minimum: 0, maximum: limits.maxPollMs, description: "How long to wait for work; 30000 by default" }),
  ),
  lease_id: Type.Optional(
    Type.String({
      pattern: "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
      description:
        "A UUID of the agent's choice, a new one for each lease. Where the answer was lost, the same asks for it again: what is leased under it already is the answer, and it costs no attempt",
    }),
  ),
  leader_epoch: Type.Optional(statedEpoch),
});

export const leaseSchema = exactly({
  lease_id: Type.String(),
  leader_epoch: epoch,
  expires_at: time,
  ttl_ms: Type.Integer({ description: "How long the agent may be silent: renew before" }),
  tasks: Type.Array(
    exactly({
      job_id: Type.String(),
      job_epoch: jobEpoch,
      op: Type.String(),
      payload: Type.Unknown(),
      namespace: Type.String(),
      attempt: Type.Integer(),
      max_attempts: Type.Integer(),
      timeout_ms: Type.Integer({ description: "How long this attempt may take, however often it is renewed" }),
    }),
  ),
});

export const renewalSchema = exactly({
  agent: Type.Optional(agentName),
  progress: Type.Optional(
    Type.Array(exactly({ job_id: jobId, progress: Type.Unknown() }), {
      maxItems: 64,
      description: "How far the tasks are",
    }),
  ),
  leader_epoch: Type.Optional(statedEpoch),
});

export const renewedSchema = exactly({
  lease_id: Type.String(),
  leader_epoch: epoch,
  expires_at: time,
  ttl_ms: Type.Integer(),
  job_ids: Type.Array(Type.String(), { description: "What is still leased under it: the rest is another's, or over" }),
});

export const giveBackSchema = exactly({
  agent: Type.Optional(agentName),
  job_ids: Type.Optional(Type.Array(jobId, { maxItems: 64, description: "All of them where none is named" })),
  leader_epoch: Type.Optional(statedEpoch),
});

export const givenBackSchema = exactly({ lease_id: Type.String(), job_ids: Type.Array(Type.String()) });

export const resultSchema = exactly({
  lease_id: leaseId,
  job_id: jobId,
  job_epoch: jobEpoch,
  agent: Type.Optional(agentName),
  leader_epoch: Type.Optional(statedEpoch),
  status: Type.Enum(["succeeded", "failed"]),
  result: Type.Optional(Type.Unknown()),
  error: Type.Optional(Type.String({ maxLength: jobLimits.payloadBytes })),
  retry: Type.Optional(Type.Boolean({ description: "false: failed for good, whatever attempts are left" })),
});

export const resultsSchema = exactly({
  results: Type.Array(resultSchema, { minItems: 1, maxItems: mostAtOnce }),
  agent: Type.Optional(agentName),
  leader_epoch: Type.Optional(statedEpoch),
});

const acceptedFields = {
  job_id: Type.Optional(Type.String()),
  job_epoch: Type.Optional(jobEpoch),
  state: Type.Optional(jobState),
  repeated: Type.Optional(Type.Boolean({ description: "It was accepted before, and changed nothing now" })),
};

/** One result has the first four; many have `results`, each with the four or with its error. */
export const acceptedSchema = exactly({
  ...acceptedFields,
  results: Type.Optional(
    Type.Array(
      exactly({
        ...acceptedFields,
        error: Type.Optional(Type.String()),
        message: Type.Optional(Type.String()),
        alias: Type.Optional(Type.String()),
        field: Type.Optional(Type.String()),
        expected: Type.Optional(Type.Integer()),
        got: Type.Optional(Type.Integer()),
      }),
    ),
  ),
});

export type ResultBody = Static<typeof resultSchema>;
type Leased = Extract<LeaseAnswer, { kind: "leased" }>;

/** A lease as `leaseSchema` has it, in the bytes to send: payloads are handed on as they came, and nobody reads them on the way. */
export function writtenLease({ leaseId: id, expiresAt, tasks }: Leased, leaderEpoch: bigint, ttlMs: number): Buffer {
  const lease = { lease_id: id, leader_epoch: Number(leaderEpoch), expires_at: secondsOf(expiresAt), ttl_ms: ttlMs };
  return Buffer.from(withLast(lease, "tasks", `[${tasks.map(writtenTask).join()}]`));
}

function writtenTask(task: Leased["tasks"][number]): string {
  const told = {
    job_id: task.jobId,
    job_epoch: task.jobEpoch,
    op: task.op,
    namespace: task.namespace,
    attempt: task.attempt,
    max_attempts: task.maxAttempts,
    timeout_ms: task.timeoutMs,
  };
  return withLast(told, "payload", task.payloadText);
}

/** An object that is not empty as JSON, with one more field whose value is JSON already. */
function withLast(fields: Readonly<Record<string, string | number>>, name: string, json: string): string {
  return `${JSON.stringify(fields).slice(0, -1)},"${name}":${json}}`;
}

export function reportedOf(body: ResultBody, agent: string): ReportedResult {
  const { lease_id, job_id, job_epoch, status, result, error, retry } = body;
  const outcome =
    status === "succeeded"
      ? { status, result: (result ?? null) as Json }
      : { status, error: error ?? "it failed, and did not say why", retry: retry ?? true };
  return { leaseId: lease_id, jobId: job_id, jobEpoch: job_epoch, agent, outcome };
}

export function showResult({ job_id, job_epoch }: ResultBody, answer: ResultAnswer) {
  if (answer.kind !== "accepted") throw refusalOf({ job_id, job_epoch }, answer);
  return { job_id, job_epoch, state: answer.state, repeated: answer.repeated };
}

/** The same as one of many: what would be a status of its own is said in its place. */
export function showResultOfMany(node: GuardedNode, body: ResultBody, answer: ResultAnswer) {
  const { job_id, job_epoch } = body;
  if (answer.kind === "accepted") return { job_id, job_epoch, state: answer.state, repeated: answer.repeated };
  const failure = refusalOf(body, answer);
  return { job_id, job_epoch, ...(errorAnswer(failure, node)?.body ?? { error: failure.code }) };
}

function refusalOf(
  { job_id, job_epoch }: Pick<ResultBody, "job_id" | "job_epoch">,
  answer: Exclude<ResultAnswer, { kind: "accepted" }>,
): HoldfastError {
  switch (answer.kind) {
    case "unknown":
      return new HoldfastError("NOT_FOUND", `There is no job "${job_id}".`);
    case "foreign":
      return foreignLease();
    case "stale":
      return new StaleEpochError(`The lease of job "${job_id}" under epoch ${job_epoch} is gone.`, {
        details: { field: "job_epoch", expected: answer.expected, got: job_epoch },
      });
  }
}

export const foreignLease = (): HoldfastError => new HoldfastError("FORBIDDEN", "This lease is another agent's.");

export const unknownLease = (id: string): HoldfastError =>
  new HoldfastError("NOT_FOUND", `There is no lease "${id}": it has run out, or all its tasks are finished.`);

export const deletedAgent = (agent: string): HoldfastError =>
  new HoldfastError(
    "AGENT_DELETED",
    `Agent "${agent}" was deleted: it gets no work until it registers anew, by a heartbeat with "registers": true.`,
  );
