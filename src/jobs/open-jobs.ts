import type { Registry } from "prom-client";
import type { Config } from "../config/config.js";
import type { Clock } from "../election/clock.js";
import type { JobBook } from "../store/job-contract.js";
import { JobMetrics } from "../telemetry/job-metrics.js";
import { JobCountsReading } from "./job-counts.js";
import { jobSettingsOf } from "./job-settings.js";
import { Jobs, type JobsParts } from "./jobs.js";

/** The jobs room of a node, with its metrics. It is opened where somebody calls `jobs.open()`. */
export function jobsOf(parts: {
  readonly book: JobBook;
  readonly config: Config;
  readonly clock: Clock;
  readonly random: () => number;
  readonly registry: Registry;
  readonly role: JobsParts["role"];
  readonly trouble: JobsParts["trouble"];
}): { readonly jobs: Jobs; readonly metrics: JobMetrics } {
  const { book, config, clock, registry } = parts;
  const reading = new JobCountsReading(clock, async () => await book.standing());
  const metrics = new JobMetrics(registry, config.metrics.prefix, async () => await reading.counts(jobs.isOpen));
  const jobs = new Jobs({ ...parts, settings: jobSettingsOf(config), counts: metrics });
  return { jobs, metrics };
}
