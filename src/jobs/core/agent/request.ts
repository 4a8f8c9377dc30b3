import type { DueRenewal } from "./lease-book.js";
import type { Report } from "./outbox.js";

/** Who asks. */
export interface AgentIdentity {
  readonly name: string;
  readonly namespace: string;
  readonly capabilities: readonly string[];
}

/** A request as it goes over the wire. */
export interface AgentRequest {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** `registers`: the first of a process. It brings back an agent that was deleted; the later ones do not. */
export function heartbeatRequest(
  { name, namespace, capabilities }: AgentIdentity,
  beat: { readonly version: string; readonly tasks: number; readonly registers: boolean },
): AgentRequest {
  return { path: "/v1/agents/heartbeat", body: { agent: name, namespace, capabilities, ...beat } };
}

export function leaseRequest(
  { name, namespace, capabilities }: AgentIdentity,
  { maxTasks, waitMs, leaseId }: { readonly maxTasks: number; readonly waitMs: number; readonly leaseId: string },
): AgentRequest {
  const wish = { max_tasks: maxTasks, timeout_ms: waitMs, lease_id: leaseId };
  const body = { agent: name, namespace, capabilities, ...wish };
  return { path: "/v1/leases", body };
}

export function renewRequest({ name }: AgentIdentity, { leaseId, progress }: DueRenewal): AgentRequest {
  const notes = progress.map(({ jobId, progress: note }) => ({ job_id: jobId, progress: note }));
  return { path: pathOf(leaseId, "renew"), body: { agent: name, ...(notes.length === 0 ? {} : { progress: notes }) } };
}

/** Without `job_ids`: all that is still leased under it. */
export function giveBackRequest({ name }: AgentIdentity, leaseId: string): AgentRequest {
  return { path: pathOf(leaseId, "give-back"), body: { agent: name } };
}

/** The epoch of the leader is left out: a result counts under whichever leader it arrives, if the job's own epoch says so. */
export function resultsRequest({ name }: AgentIdentity, reports: readonly Report[]): AgentRequest {
  const results = reports.map(({ leaseId, jobId, jobEpoch, outcome }) => ({
    lease_id: leaseId,
    job_id: jobId,
    job_epoch: jobEpoch,
    ...(outcome.status === "failed" && outcome.retry ? { status: "failed", error: outcome.error } : outcome),
  }));
  return { path: "/v1/results", body: { agent: name, results } };
}

function pathOf(leaseId: string, deed: string): string {
  return `/v1/leases/${encodeURIComponent(leaseId)}/${deed}`;
}
