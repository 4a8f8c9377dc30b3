import type { Json } from "../../jobs/core/job.js";
import type { JobOrder, Renewal, Result, Submission } from "../job-orders.js";
import type { CopiedJobs } from "./job-copy.js";
import { Demands } from "./job-demands.js";
import { quoted, storable } from "./literal.js";

/** How orders travel: results as columns, the others grouped by kind, an argument of `apply_jobs` for each kind that there is. */

type Told = Exclude<JobOrder, Result>;

const argumentOf = {
  renew: "p_renewals",
  give_back: "p_give_backs",
  cancel: "p_cancels",
  redrive: "p_redrives",
  submit: "p_submits",
  heartbeat: "p_heartbeats",
  remove_agent: "p_removals",
  lease: "p_leases",
} as const satisfies Record<Told["kind"], string>;

/** Statements for these, but for those submissions that are copied in. */
export function applyStatement(
  schema: string,
  epoch: bigint,
  orders: readonly Told[],
  { demands = new Demands(), copied }: { readonly demands?: Demands; readonly copied?: CopiedJobs } = {},
): string {
  const groups = new Map<string, unknown[]>();
  for (const order of orders) {
    const name = argumentOf[order.kind];
    const group = groups.get(name) ?? [];
    groups.set(name, group);
    group.push(recordOf(order, demands));
  }
  if (demands.records.length > 0) groups.set("p_demands", demands.records);
  const given = [`p_epoch => ${epoch}`];
  for (const [name, records] of groups) given.push(`${name} => ${quoted(JSON.stringify(records))}`);
  if (copied !== undefined) {
    const { number, told, demandIds } = copied;
    given.push(`p_copied => ${number}`, `p_told => ${quoted(told)}`, `p_assumed => '{${demandIds.join()}}'`);
  }
  return `select ${schema}.apply_jobs(${given.join(", ")}) as reply`;
}

/** Results come as columns, which the database reads in half the time of a record each. */
export function reportStatement(schema: string, epoch: bigint, results: readonly Result[]): string {
  const column = (valueIn: (result: Result) => Value): string => arrayOf(results.map(valueIn));
  const columns = [
    column(({ jobId }) => storable(jobId)),
    column(({ jobEpoch }) => jobEpoch),
    column(({ leaseId }) => storable(leaseId)),
    column(({ agent }) => storable(agent)),
    column(({ outcome }) => outcome.kind === "succeeded"),
    column(({ outcome }) => (outcome.kind === "succeeded" ? null : outcome.kind === "failed")),
    column(({ outcome }) =>
      outcome.kind === "succeeded" && outcome.result !== null ? jsonText(outcome.result) : null,
    ),
    column(({ outcome }) => (outcome.kind === "succeeded" ? null : storable(outcome.error))),
    column(({ outcome }) => (outcome.kind === "failed" ? outcome.backoff.firstMs : null)),
    column(({ outcome }) => (outcome.kind === "failed" ? outcome.backoff.capMs : null)),
    column(({ outcome }) => (outcome.kind === "failed" ? outcome.jitter : null)),
    arrayOf(toldAgain(results)),
  ];
  return `select ${schema}.report_jobs(${columns.join(", ")}, ${epoch}) as results`;
}

/** True for those that are in the message already; hardly ever a job is in it twice. */
function toldAgain(results: readonly Result[]): readonly (true | null)[] {
  if (new Set(results.map(({ jobId }) => jobId)).size === results.length) return [];
  const told = new Set<string>();
  return results.map(({ jobId, jobEpoch, leaseId, agent }) => {
    const key = JSON.stringify([jobId, jobEpoch, leaseId, agent]);
    if (told.has(key)) return true;
    told.add(key);
    return null;
  });
}

type Value = string | number | boolean | null;

/** A literal of an array. It ends where only nulls would follow. */
function arrayOf(values: readonly Value[]): string {
  const last = values.findLastIndex((value) => value !== null);
  const items: string[] = [];
  for (let index = 0; index <= last; index += 1) items.push(itemOf(values[index] ?? null));
  return quoted(`{${items.join()}}`);
}

function itemOf(value: Value): string {
  if (value === null) return "null";
  if (typeof value !== "string") return `${value}`;
  return /["\\]/.test(value) ? `"${value.replaceAll(/["\\]/g, "\\$&")}"` : `"${value}"`;
}

function recordOf(order: Told, demands: Demands): unknown {
  switch (order.kind) {
    case "submit":
      return submissionRecord(order, demands.placeOf(order));
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
        most_crashes: order.mostCrashes,
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

function renewalRecord({ leaseId, agent, ttlMs, progress }: Renewal) {
  const told = progress.map((each) => ({ job_id: storable(each.jobId), progress: jsonText(each.progress) }));
  return { lease_id: storable(leaseId), agent: storable(agent), ttl_ms: ttlMs, progress: told };
}

/**
 * As text inside the text: the database hands it on as it came, and does not take offence at what it says, such as a zero in a
 * string, which would cost all others of the message their commit.
 */
const jsonText = (value: Json): string => JSON.stringify(value);
