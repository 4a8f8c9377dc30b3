import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { Config } from "../config/config.js";
import type { Clock } from "../election/clock.js";
import type { InFlightWork } from "../lifecycle/in-flight.js";
import type { ClusterView } from "../membership/cluster-view.js";
import type { MemberCounts } from "../membership/node-row.js";
import type { CronBook } from "../store/cron-contract.js";
import type { JobBook } from "../store/job-contract.js";
import type { WorkerBook } from "../store/worker-contract.js";
import { CronMetrics } from "../telemetry/cron-metrics.js";
import type { Json } from "./core/job.js";
import { Crons, type CronsParts } from "./crons.js";
import type { Jobs, JobsParts } from "./jobs.js";
import { jobsOf } from "./open-jobs.js";
import { FunctionCalls } from "./worker/function-calls.js";
import { Worker, type WorkerParts } from "./worker/worker.js";

/** Whether the settings give this node crons to fire; it then contends for their role from the start. */
export function hasCrons({ crons, cluster }: Config): boolean {
  return crons.length > 0 && cluster.roles.includes("scheduler");
}

export interface JobsRoom {
  readonly jobs: Jobs;
  readonly crons: Crons;
  readonly worker: Worker;
  readonly functions: FunctionCalls;
  readonly metrics: readonly { remove(): void }[];
}

/** The jobs, crons and workers of a node, with their metrics. Whoever opens jobs opens crons, and vice versa: one leader has both. */
export function jobsRoomOf(parts: {
  readonly store: { readonly jobs: JobBook; readonly crons: CronBook; readonly workers: WorkerBook };
  readonly report: WorkerParts["node"];
  readonly log: Logger;
  readonly cluster: Pick<ClusterView, "nodes">;
  readonly members: () => MemberCounts;
  readonly work: Pick<InFlightWork, "accepting">;
  readonly config: Config;
  readonly clock: Clock;
  readonly random: () => number;
  readonly registry: Registry;
  readonly role: () => ReturnType<JobsParts["role"]> & ReturnType<CronsParts["role"]>;
  readonly trouble: JobsParts["trouble"];
  /** What has to be done wherever there are jobs. */
  readonly upkeep: { open(): void; readonly metrics: { remove(): void } };
}): JobsRoom {
  const { store, config, clock, registry, role, trouble } = parts;
  let isOpened = false;
  const openedWith = (other: () => { open(): unknown }) => () => {
    if (!isOpened) {
      isOpened = true;
      other().open();
      parts.upkeep.open();
    }
    return role();
  };
  const { jobs, metrics } = jobsOf({ ...parts, book: store.jobs, role: openedWith(() => crons) });
  const cronMetrics = new CronMetrics(registry, config.metrics.prefix);
  const crons = new Crons({
    book: store.crons,
    clock,
    trouble,
    settings: jobs.settings,
    counts: cronMetrics,
    stated: config.crons.map(({ payload, ...cron }) => ({ ...cron, payload: payload as Json })),
    submitted: (number) => {
      metrics.submitted(number);
      jobs.stir();
    },
    role: openedWith(() => jobs),
  });
  const worker = new Worker({
    ...parts,
    book: store.workers,
    jobs,
    node: parts.report,
    activeNodes: () => parts.members().active,
    isDraining: () => !parts.work.accepting,
  });
  const functions = new FunctionCalls({ jobs, nodes: async () => await parts.cluster.nodes(), clock, trouble });
  return { jobs, crons, worker, functions, metrics: [metrics, cronMetrics, parts.upkeep.metrics] };
}
