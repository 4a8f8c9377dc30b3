import { Counter, Gauge, type Registry } from "prom-client";

/** An alert that fires and was acknowledged is counted as that alone. */
export const alertStates = ["pending", "firing", "acknowledged", "resolved"] as const;
export type SeenState = (typeof alertStates)[number];

const notifierKinds = ["slack", "pagerduty", "webhook", "log"] as const;
const outcomes = ["sent", "failed"] as const;

/** The metrics of alerts. Every series exists from the start. */
export class AlertMetrics {
  private readonly registry: Registry;
  private readonly names: readonly string[];
  private readonly notifications: Counter<"notifier" | "outcome">;
  private readonly rounds: Counter;

  constructor(registry: Registry, prefix: string, read: () => ReadonlyMap<SeenState, number>) {
    this.registry = registry;
    this.names = [`${prefix}alerts`, `${prefix}alert_notifications_total`, `${prefix}alert_rounds_total`];
    const [alerts = "", notifications = "", rounds = ""] = this.names;
    new Gauge({
      name: alerts,
      help: "Alerts of the cluster by state, as this node last saw them.",
      labelNames: ["state"],
      registers: [registry],
      collect() {
        const counts = read();
        for (const state of alertStates) this.set({ state }, counts.get(state) ?? 0);
      },
    });
    this.notifications = new Counter({
      name: notifications,
      help: "What this node has told of alerts, or tried to, by the way that it took and what became of it.",
      labelNames: ["notifier", "outcome"],
      registers: [registry],
    });
    for (const notifier of notifierKinds) {
      for (const outcome of outcomes) this.notifications.inc({ notifier, outcome }, 0);
    }
    this.rounds = new Counter({
      name: rounds,
      help: "Evaluations of all rules that this node has done for the cluster.",
      registers: [registry],
    });
  }

  told(notifier: (typeof notifierKinds)[number], outcome: (typeof outcomes)[number]): void {
    this.notifications.inc({ notifier, outcome });
  }

  round(): void {
    this.rounds.inc();
  }

  /** Takes our metrics out of a registry that may serve another node of the process later. */
  remove(): void {
    for (const name of this.names) this.registry.removeSingleMetric(name);
  }
}
