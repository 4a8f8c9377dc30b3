import type { Registry } from "prom-client";
import type { Config } from "../config/config.js";
import type { Clock } from "../election/clock.js";
import type { CronBook } from "../store/cron-contract.js";
import type { JobBook } from "../store/job-contract.js";
import { CronMetrics } from "../telemetry/cron-metrics.js";
import type { Json } from "./core/job.js";
import { Crons, type CronsParts } from "./crons.js";
import type { Jobs, JobsParts } from "./jobs.js";
import { jobsOf } from "./open-jobs.js";

/** Whether the settings give this node crons to fire; it then contends for their role from the start. */
export function hasCrons({ crons, cluster }: Config): boolean {
  return crons.length > 0 && cluster.roles.includes("scheduler");
}

/** The jobs and the crons of a node, with their metrics. Whoever opens the ones opens the others: one leader has both. */
export function jobsRoomOf(parts: {
  readonly store: { readonly jobs: JobBook; readonly crons: CronBook };
  readonly config: Config;
  readonly clock: Clock;
  readonly random: () => number;
  readonly registry: Registry;
  readonly role: () => ReturnType<JobsParts["role"]> & ReturnType<CronsParts["role"]>;
  readonly trouble: JobsParts["trouble"];
  /** What has to be done wherever there are jobs. */
  readonly upkeep: { open(): void; readonly metrics: { remove(): void } };
}): { readonly jobs: Jobs; readonly crons: Crons; readonly metrics: readonly { remove(): void }[] } {
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
  return { jobs, crons, metrics: [metrics, cronMetrics, parts.upkeep.metrics] };
}
