import type { Json } from "../job.js";
import type { ReportAnswer } from "./outbox.js";
import { type Fields, fieldsOf, isPassing, textOf } from "./reply.js";

/** A job as it is handed to an agent. */
export interface Task {
  readonly jobId: string;
  readonly jobEpoch: number;
  readonly op: string;
  readonly payload: Json;
  /** The how-many-th attempt this is. */
  readonly attempt: number;
  /** How long it may take; null where the leader did not say. */
  readonly timeoutMs: number | null;
}

export interface LeasedWork {
  readonly leaseId: string;
  /** How long the agent may be silent; null where the leader did not say. */
  readonly ttlMs: number | null;
  readonly tasks: readonly Task[];
}

export interface RenewedLease {
  readonly ttlMs: number | null;
  /** What is still leased under it; null where the leader did not say. */
  readonly jobIds: readonly string[] | null;
}

/** Work, "none" where there is nothing to do, or null where the answer cannot be read. */
export function readWork(body: Fields): LeasedWork | "none" | null {
  if (Object.keys(body).length === 0) return "none";
  const leaseId = textOf(body.lease_id);
  if (leaseId === null || !Array.isArray(body.tasks)) return null;
  const tasks = body.tasks.map((task) => readTask(fieldsOf(task) ?? {}));
  // A lease without tasks is no work, and an answer that was worth no waiting.
  if (tasks.length === 0 || tasks.some((task) => task === null)) return null;
  return { leaseId, ttlMs: positive(body.ttl_ms), tasks: tasks.filter((task) => task !== null) };
}

export function readRenewal(body: Fields): RenewedLease {
  const { job_ids: jobIds } = body;
  const areNames = Array.isArray(jobIds) && jobIds.every((each) => typeof each === "string");
  return { ttlMs: positive(body.ttl_ms), jobIds: areNames ? jobIds : null };
}

/** An answer for each of so many results, in their order; null where they cannot be told apart. */
export function readReportAnswers(body: Fields, count: number): readonly ReportAnswer[] | null {
  const { results } = body;
  if (!Array.isArray(results) || results.length !== count) return null;
  return results.map((each) => readReportAnswer(fieldsOf(each) ?? {}));
}

function readReportAnswer(answer: Fields): ReportAnswer {
  const code = textOf(answer.error);
  if (code === null) return { kind: "accepted" };
  if (code === "STALE_EPOCH") return { kind: "stale" };
  if (isPassing(code)) return { kind: "later" };
  return { kind: "refused", code, message: textOf(answer.message) ?? `it says ${code}` };
}

function readTask(task: Fields): Task | null {
  const jobId = textOf(task.job_id);
  const op = textOf(task.op);
  const { job_epoch: jobEpoch, payload = null, attempt } = task;
  if (jobId === null || op === null || !isCount(jobEpoch)) return null;
  const timeoutMs = positive(task.timeout_ms);
  return { jobId, jobEpoch, op, payload: payload as Json, attempt: isCount(attempt) ? attempt : 1, timeoutMs };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function positive(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : null;
}
