import type { Demand, Json } from "../../jobs/core/job.js";
import type { JobOrder, Renewal, Result, Submission } from "../job-orders.js";
import { quoted, storable } from "./literal.js";

/** How orders travel: grouped by kind, an argument of `apply_jobs` for each kind that there is, as JSON. */

const argumentOf = {
  result: "p_results",
  renew: "p_renewals",
  give_back: "p_give_backs",
  cancel: "p_cancels",
  redrive: "p_redrives",
  submit: "p_submits",
  heartbeat: "p_heartbeats",
  remove_agent: "p_removals",
  lease: "p_leases",
} as const satisfies Record<JobOrder["kind"], string>;

export function applyStatement(schema: string, epoch: bigint, orders: readonly JobOrder[]): string {
  const groups = new Map<string, unknown[]>();
  const demands = new Demands();
  const told = new Set<string>();
  for (const order of orders) {
    const name = argumentOf[order.kind];
    const group = groups.get(name) ?? [];
    groups.set(name, group);
    group.push(recordOf(order, demands, told));
  }
  if (demands.records.length > 0) groups.set("p_demands", demands.records);
  const given = [...groups].map(([name, records]) => `${name} => ${quoted(JSON.stringify(records))}`);
  return `select ${schema}.apply_jobs(${[`p_epoch => ${epoch}`, ...given].join(", ")}) as reply`;
}

/** What the jobs of a message ask for, each demand once; most ask for the same. */
class Demands {
  readonly records: unknown[] = [];
  private readonly places = new Map<string, number>();

  /** Its place, counted from 1. */
  placeOf({ namespace, pinnedAgent, capabilities }: Demand): number {
    const record = {
      namespace: storable(namespace),
      pinned_agent: pinnedAgent === null ? undefined : storable(pinnedAgent),
      capabilities: capabilities.length === 0 ? undefined : sorted(capabilities.map(storable)),
    };
    const key = JSON.stringify(record);
    const place = this.places.get(key) ?? this.records.push(record);
    this.places.set(key, place);
    return place;
  }
}

/** `told`: the results that are in the message already. */
function recordOf(order: JobOrder, demands: Demands, told: Set<string>): unknown {
  switch (order.kind) {
    case "submit":
      return submissionRecord(order, demands.placeOf(order));
    case "result": {
      const { jobId, jobEpoch, leaseId, agent } = order;
      const key = JSON.stringify([jobId, jobEpoch, leaseId, agent]);
      const record = resultRecord(order);
      if (told.has(key)) return { ...record, again: true };
      told.add(key);
      return record;
    }
    case "renew":
      return renewalRecord(order);
    case "lease":
      return {
        lease_id: storable(order.leaseId),
        agent: storable(order.agent),
        namespace: storable(order.namespace),
        capabilities: order.capabilities.map(storable),
        max_tasks: order.maxTasks,
        ttl_ms: order.ttlMs,
      };
    case "give_back":
      return {
        agent: storable(order.agent),
        lease_id: order.leaseId === null ? null : storable(order.leaseId),
        job_ids: order.jobIds?.map(storable) ?? null,
      };
    case "heartbeat":
      return {
        agent: storable(order.agent),
        namespace: storable(order.namespace),
        capabilities: order.capabilities.map(storable),
        version: order.version === null ? null : storable(order.version),
        tasks: order.tasks,
        registers: order.registers,
      };
    case "cancel":
    case "redrive":
      return storable(order.jobId);
    case "remove_agent":
      return storable(order.agent);
  }
}

/** What is not there is left out, and so is what is as usual: most of a message is names otherwise. */
function submissionRecord(order: Submission, demand: number) {
  const { runAt, idempotencyKey, cron, tick } = order;
  return {
    job_id: storable(order.jobId),
    namespace: storable(order.namespace),
    op: storable(order.op),
    payload: jsonText(order.payload),
    priority: order.priority,
    timeout_ms: Math.ceil(order.timeoutMs),
    max_attempts: order.maxAttempts,
    demand,
    run_at: runAt ?? undefined,
    idempotency_key: idempotencyKey === null ? undefined : storable(idempotencyKey),
    cron: cron === null ? undefined : storable(cron),
    tick: tick ?? undefined,
  };
}

function resultRecord({ jobId, jobEpoch, leaseId, agent, outcome }: Result) {
  const told = {
    job_id: storable(jobId),
    job_epoch: jobEpoch,
    lease_id: storable(leaseId),
    agent: storable(agent),
    success: outcome.kind === "succeeded",
  };
  switch (outcome.kind) {
    case "succeeded":
      return { ...told, result: outcome.result === null ? undefined : jsonText(outcome.result) };
    case "failed_for_good":
      return { ...told, retry: false, error: storable(outcome.error) };
    case "failed": {
      const { backoff, jitter, error } = outcome;
      const pause = { first_ms: backoff.firstMs, cap_ms: backoff.capMs, jitter };
      return { ...told, retry: true, error: storable(error), ...pause };
    }
  }
}

function renewalRecord({ leaseId, agent, ttlMs, progress }: Renewal) {
  const told = progress.map((each) => ({ job_id: storable(each.jobId), progress: jsonText(each.progress) }));
  return { lease_id: storable(leaseId), agent: storable(agent), ttl_ms: ttlMs, progress: told };
}

/**
 * As text inside the text: the database hands it on as it came, and does not take offence at what it says, such as a zero in a
 * string, which would cost all others of the message their commit.
 */
const jsonText = (value: Json): string => JSON.stringify(value);

/** Jobs that ask for the same are found by it. */
const sorted = (capabilities: readonly string[]): readonly string[] => [...new Set(capabilities)].sort();
