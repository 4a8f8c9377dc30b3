import { isRedrivable, type Json, suits } from "../../jobs/core/job.js";
import { afterCrash, afterResult, judgeReport } from "../../jobs/core/job-rules.js";
import type {
  Cancellation,
  CancellationAnswer,
  GiveBack,
  GiveBackAnswer,
  Heartbeat,
  HeartbeatAnswer,
  JobAnswer,
  JobOrder,
  LeaseAnswer,
  LeaseOrder,
  Redrive,
  RedriveAnswer,
  Removal,
  RemovalAnswer,
  Renewal,
  RenewalAnswer,
  Result,
  ResultAnswer,
  Submission,
  SubmissionAnswer,
  Task,
} from "../job-orders.js";
import type { MemoryJob, MemoryJobTables } from "./job-tables.js";

/** What each order does to the jobs in memory, under an epoch. */

export function obey(tables: MemoryJobTables, order: JobOrder, epoch: bigint): JobAnswer {
  switch (order.kind) {
    case "result":
      return report(tables, order, epoch);
    case "renew":
      return renew(tables, order, epoch);
    case "give_back":
      return giveBack(tables, order, epoch);
    case "cancel":
      return cancel(tables, order, epoch);
    case "redrive":
      return redrive(tables, order, epoch);
    case "submit":
      return submit(tables, order, epoch);
    case "heartbeat":
      return beat(tables, order, epoch);
    case "remove_agent":
      return remove(tables, order, epoch);
    case "lease":
      return lease(tables, order, epoch);
  }
}

/** Whether it is a result that counts. Those come first, and the others are judged by what they have made of their jobs. */
export function counts(tables: MemoryJobTables, order: JobOrder): boolean {
  if (order.kind !== "result") return false;
  const success = order.outcome.kind === "succeeded";
  return judgeReport(tables.jobs.get(order.jobId) ?? null, { ...order, success }).kind === "accepted";
}

/** Whoever gets it may do to it what he likes. */
export const copyOf = (value: Json): Json => structuredClone(value);

function report(tables: MemoryJobTables, { jobId, outcome, ...told }: Result, epoch: bigint): ResultAnswer {
  const job = tables.jobs.get(jobId) ?? null;
  const success = outcome.kind === "succeeded";
  const verdict = judgeReport(job, { ...told, success });
  if (verdict.kind === "stale") return verdict;
  if (job === null || verdict.kind === "unknown" || verdict.kind === "foreign") {
    return { kind: verdict.kind === "foreign" ? "foreign" : "unknown" };
  }
  if (verdict.kind === "repeated") return { kind: "accepted", state: job.state, repeated: true };
  const { state, waitMs } = afterResult(job, outcome);
  tables.move(job, state, epoch, {
    waitsUntil: waitMs > 0 ? tables.now() + waitMs : null,
    reportedEpoch: told.jobEpoch,
    crashes: 0,
    reportedSuccess: success,
    result: outcome.kind === "succeeded" ? copyOf(outcome.result) : null,
    error: outcome.kind === "succeeded" ? null : outcome.error,
  });
  return { kind: "accepted", state, repeated: false };
}

function renew(tables: MemoryJobTables, order: Renewal, epoch: bigint): RenewalAnswer {
  const lease = tables.leases.get(order.leaseId);
  if (lease === undefined) return { kind: "unknown" };
  if (lease.agent !== order.agent) return { kind: "foreign" };
  const held = tables.heldUnder(order.leaseId);
  for (const { jobId, progress } of order.progress) {
    const job = held.find((each) => each.jobId === jobId);
    if (job !== undefined)
      Object.assign(job, { progress: copyOf(progress), leaderEpoch: epoch, updatedAt: tables.now() });
  }
  tables.extend(lease, tables.now() + order.ttlMs);
  return { kind: "renewed", expiresAt: lease.leasedUntil, jobIds: held.map(({ jobId }) => jobId) };
}

function giveBack(tables: MemoryJobTables, order: GiveBack, epoch: bigint): GiveBackAnswer {
  const { agent, leaseId, jobIds, mostCrashes = null } = order;
  const leases = [...tables.leases.values()]
    .filter((lease) => lease.agent === agent && (leaseId ?? lease.leaseId) === lease.leaseId)
    .sort((one, other) => (one.leaseId < other.leaseId ? -1 : 1));
  const given = leases
    .flatMap((lease) => tables.heldUnder(lease.leaseId))
    .filter(({ jobId }) => jobIds === null || jobIds.includes(jobId));
  for (const job of given) {
    const crashes = job.crashes + (mostCrashes === null ? 0 : 1);
    const state = mostCrashes === null ? "queued" : afterCrash(crashes, mostCrashes);
    const error = state === "dead" ? `${crashes} ${crashReason}` : job.error;
    tables.move(job, state, epoch, { attempts: job.attempts - 1, crashes, error });
  }
  return { kind: "given_back", jobIds: given.map(({ jobId }) => jobId) };
}

const crashReason = "nodes in a row died, or fell silent, while they worked on it";

function cancel(tables: MemoryJobTables, { jobId }: Cancellation, epoch: bigint): CancellationAnswer {
  const job = tables.jobs.get(jobId);
  if (job === undefined) return { kind: "unknown" };
  if (job.state === "queued" || job.state === "leased") tables.move(job, "cancelled", epoch);
  return job.state === "cancelled" ? { kind: "cancelled" } : { kind: "finished", state: job.state };
}

function redrive(tables: MemoryJobTables, { jobId }: Redrive, epoch: bigint): RedriveAnswer {
  const job = tables.jobs.get(jobId);
  if (job === undefined) return { kind: "unknown" };
  if (!isRedrivable(job.state)) return { kind: "unneeded", state: job.state };
  tables.move(job, "queued", epoch, { attempts: 0, crashes: 0 });
  return { kind: "redriven" };
}

function submit(tables: MemoryJobTables, order: Submission, epoch: bigint): SubmissionAnswer {
  const { kind: _kind, runAt, payload, capabilities, ...rest } = order;
  tables.submitted += 1;
  const existing = tables.jobs.get(order.jobId) ?? withKey(tables, order);
  if (existing !== undefined) {
    const { jobId, jobEpoch, state, op, namespace } = existing;
    const same =
      op === order.op && namespace === order.namespace && JSON.stringify(existing.payload) === JSON.stringify(payload);
    return { kind: "existing", jobId, jobEpoch, state, same };
  }
  const now = tables.now();
  const job: MemoryJob = {
    ...rest,
    n: tables.submitted,
    payload: copyOf(payload),
    capabilities: [...new Set(capabilities)].sort(),
    state: "queued",
    waitsUntil: runAt !== null && runAt > now ? runAt : null,
    attempts: 0,
    jobEpoch: 0,
    leaderEpoch: epoch,
    leaseId: null,
    agent: null,
    progress: null,
    result: null,
    error: null,
    createdAt: now,
    updatedAt: now,
    runUntil: null,
    reportedEpoch: 0,
    crashes: 0,
    reportedSuccess: null,
  };
  tables.jobs.set(job.jobId, job);
  tables.tellOf(job, null, epoch);
  return { kind: "created", jobId: job.jobId, jobEpoch: 0, state: "queued", same: true };
}

function withKey(tables: MemoryJobTables, { namespace, idempotencyKey }: Submission): MemoryJob | undefined {
  if (idempotencyKey === null) return undefined;
  return [...tables.jobs.values()].find((job) => job.namespace === namespace && job.idempotencyKey === idempotencyKey);
}

function beat(tables: MemoryJobTables, order: Heartbeat, epoch: bigint): HeartbeatAnswer {
  const { agent: name, namespace, capabilities, version, tasks, registers } = order;
  const known = tables.agents.get(name);
  const isNew = known === undefined || known.deletedAt !== null;
  if (known !== undefined && isNew && !registers) return { kind: "deleted" };
  const now = tables.now();
  const firstSeen = isNew ? now : known.firstSeen;
  const told = { name, namespace, capabilities: [...capabilities], version, tasks };
  tables.agents.set(name, { ...told, firstSeen, lastHeartbeat: now, deletedAt: null });
  if (isNew) tables.tell("agent.registered", { agent: name }, epoch);
  return { kind: "seen" };
}

function remove(tables: MemoryJobTables, { agent: name }: Removal, epoch: bigint): RemovalAnswer {
  const agent = tables.agents.get(name);
  if (agent === undefined) return { kind: "unknown" };
  if (agent.deletedAt === null) {
    agent.deletedAt = tables.now();
    tables.tell("agent.deleted", { agent: name }, epoch);
  }
  return { kind: "removed" };
}

function lease(tables: MemoryJobTables, order: LeaseOrder, epoch: bigint): LeaseAnswer {
  const { leaseId, agent, maxTasks, ttlMs } = order;
  if ((tables.agents.get(agent)?.deletedAt ?? null) !== null) return { kind: "deleted" };
  const before = tables.leases.get(leaseId);
  if (before !== undefined) {
    if (before.agent !== agent) return { kind: "foreign" };
    const tasks = tables.heldUnder(leaseId).sort(byTurn).map(taskOf);
    return { kind: "leased", leaseId, expiresAt: before.leasedUntil, tasks };
  }
  const ready = [...tables.jobs.values()].filter((job) => job.state === "queued" && job.waitsUntil === null);
  const taken = ready
    .filter((job) => suits(job, order))
    .sort(byTurn)
    .slice(0, maxTasks);
  if (taken.length === 0) return { kind: "none" };
  const now = tables.now();
  const made = { leaseId, agent, leasedUntil: now + ttlMs, dueAt: now + ttlMs };
  tables.leases.set(leaseId, made);
  for (const job of taken) {
    const { attempts, jobEpoch, timeoutMs } = job;
    const counted = { attempts: attempts + 1, jobEpoch: jobEpoch + 1, progress: null };
    const held = { state: "leased", leaseId, agent, runUntil: now + timeoutMs, leaderEpoch: epoch, updatedAt: now };
    Object.assign(job, counted, held);
    tables.tellOf(job, agent, epoch);
  }
  tables.extend(made, now + ttlMs);
  return { kind: "leased", leaseId, expiresAt: now + ttlMs, tasks: taken.map(taskOf) };
}

const byTurn = (one: MemoryJob, other: MemoryJob): number => other.priority - one.priority || one.n - other.n;

function taskOf({ jobId, jobEpoch, op, payload, namespace, attempts, maxAttempts, timeoutMs }: MemoryJob): Task {
  const payloadText = JSON.stringify(payload);
  return { jobId, jobEpoch, op, payloadText, namespace, attempt: attempts, maxAttempts, timeoutMs };
}
