import { Counter, Gauge, type Registry } from "prom-client";

/** Jobs by state; none where this node does not lead. Never rejects. */
export type JobReading = () => Promise<Readonly<Record<string, number>>>;

/** The metrics of jobs (CONTRACT section 5). Every series exists from the start. */
export class JobMetrics {
  private readonly registry: Registry;
  private readonly prefix: string;
  private readonly total: Counter;
  private readonly stale: Counter;

  constructor(registry: Registry, prefix: string, read: JobReading) {
    this.registry = registry;
    this.prefix = prefix;
    const registers = [registry];
    this.total = new Counter({
      name: `${prefix}jobs_total`,
      help: "Jobs that this node has taken in, as their leader.",
      registers,
    });
    this.stale = new Counter({
      name: `${prefix}job_stale_results_total`,
      help: "Results that this node has refused, because their lease was gone.",
      registers,
    });
    new Gauge({
      name: `${prefix}jobs`,
      help: "Jobs that are kept, by state, as the leader knows; 0 on the others.",
      labelNames: ["state"],
      registers,
      async collect() {
        for (const [state, jobs] of Object.entries(await read())) this.set({ state }, jobs);
      },
    });
  }

  submitted(jobs: number): void {
    this.total.inc(jobs);
  }

  staleResults(results: number): void {
    this.stale.inc(results);
  }

  /** Takes our metrics out of a registry that may serve another node of the process later. */
  remove(): void {
    for (const name of ["jobs", "jobs_total", "job_stale_results_total"]) {
      this.registry.removeSingleMetric(`${this.prefix}${name}`);
    }
  }
}
