import { Counter, type Registry } from "prom-client";

/** The metrics of crons (CONTRACT section 5). The series of a cron exist from when this node knows of it. */
export class CronMetrics {
  private readonly registry: Registry;
  private readonly prefix: string;
  private readonly firedTotal: Counter<"cron">;
  private readonly missedTotal: Counter<"cron">;

  constructor(registry: Registry, prefix: string) {
    this.registry = registry;
    this.prefix = prefix;
    const counter = (name: string, help: string): Counter<"cron"> =>
      new Counter({ name: `${prefix}${name}`, help, labelNames: ["cron"], registers: [registry] });
    this.firedTotal = counter(
      "cron_fired_total",
      "Jobs that this node has submitted for ticks of a cron, as its leader.",
    );
    this.missedTotal = counter(
      "cron_missed_total",
      "Ticks of a cron that nobody was there for and that this node, as its leader, gave no job of their own.",
    );
  }

  known(cron: string): void {
    this.fired(cron, 0);
    this.missed(cron, 0);
  }

  fired(cron: string, ticks: number): void {
    this.firedTotal.inc({ cron }, ticks);
  }

  missed(cron: string, ticks: number): void {
    this.missedTotal.inc({ cron }, ticks);
  }

  /** Takes our metrics out of a registry that may serve another node of the process later. */
  remove(): void {
    for (const name of ["cron_fired_total", "cron_missed_total"]) {
      this.registry.removeSingleMetric(`${this.prefix}${name}`);
    }
  }
}
