import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { EndReason } from "../election/core/elector-state.js";
import type { Epoch, Role } from "../election/core/names.js";

/** How a term can end, as the label `reason` says it; every one of them, or this does not compile. */
export const lossReasons = Object.keys({
  superseded: true,
  expired: true,
  database_changed: true,
  trust_ran_out: true,
  stepped_down: true,
  draining: true,
  work_failed: true,
  drain_overrun: true,
} satisfies Record<EndReason, true>) as readonly EndReason[];

/** What the gauges are read from, when somebody asks. */
export interface ElectionReading {
  readonly isLeader: boolean;
  readonly isHeir: boolean;
  readonly epoch: Epoch;
  readonly tenureSeconds: number;
  readonly trustRemainingSeconds: number;
  readonly heartbeatAgeSeconds: number;
}

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The metrics of elections (CONTRACT section 5). Every series of a known role exists at 0 from the start. */
export class ElectionMetrics {
  readonly elections: Counter<"role">;
  readonly acquired: Counter<"role">;
  readonly lost: Counter<"role" | "reason">;
  readonly failovers: Counter<"role">;
  readonly gateBlocked: Counter<"role">;
  readonly fenceRejected: Counter<"role">;
  readonly leaderless: Counter<"role">;
  readonly sessionsEnded: Counter;
  readonly sessionsNotEnded: Counter;
  readonly acquireSeconds: Histogram<"role">;
  readonly heartbeatSeconds: Histogram<"role">;
  readonly failoverSeconds: Histogram<"role">;
  private readonly readings = new Map<Role, () => ElectionReading>();

  private readonly names: readonly string[];
  private readonly registry: Registry;

  constructor(registry: Registry, prefix: string) {
    this.registry = registry;
    const before = namesIn(registry);
    const registers = [registry];
    const counter = <Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> =>
      new Counter({ name: `${prefix}${name}`, help, labelNames, registers });
    this.elections = counter("leader_elections_total", "Attempts of this node to acquire the role.", ["role"]);
    this.acquired = counter("leader_acquired_total", "Times this node was elected.", ["role"]);
    this.lost = counter("leader_lost_total", "Terms of this node that ended, by reason.", ["role", "reason"]);
    this.failovers = counter("leader_failovers_total", "Takeovers by this node from a leader that did not release.", [
      "role",
    ]);
    this.gateBlocked = counter("gate_blocked_total", "Actions that the gate refused.", ["role"]);
    this.fenceRejected = counter("fence_rejected_total", "Transactions that the database refused as stale.", ["role"]);
    this.leaderless = counter("cluster_leaderless_seconds_total", "Time without a leader, as far as this node saw.", [
      "role",
    ]);
    this.sessionsEnded = counter("stale_sessions_ended_total", "Sessions of frozen nodes that this node ended.", []);
    this.sessionsNotEnded = counter(
      "stale_sessions_refused_total",
      "Sessions that this node was not allowed to end.",
      [],
    );
    this.acquireSeconds = new Histogram({
      name: `${prefix}leader_acquire_seconds`,
      help: "Duration of an acquire request.",
      labelNames: ["role"],
      buckets: seconds,
      registers,
    });
    this.heartbeatSeconds = new Histogram({
      name: `${prefix}leader_heartbeat_seconds`,
      help: "Duration of a beat, which renews every role of the node at once.",
      labelNames: ["role"],
      buckets: seconds,
      registers,
    });
    this.failoverSeconds = new Histogram({
      name: `${prefix}leader_failover_seconds`,
      help: "Time from the end of the last leader to this node's election, as the database tells it.",
      labelNames: ["role"],
      buckets: seconds,
      registers,
    });
    this.addGauges(registry, prefix);
    this.names = [...namesIn(registry)].filter((name) => !before.has(name));
  }

  private addGauges(registry: Registry, prefix: string): void {
    const { readings } = this;
    const gauge = (name: string, help: string, read: (reading: ElectionReading) => number): void => {
      new Gauge({
        name: `${prefix}${name}`,
        help,
        labelNames: ["role"],
        registers: [registry],
        collect() {
          for (const [role, reading] of readings) this.set({ role }, read(reading()));
        },
      });
    };
    gauge("leader_is_leader", "1 while this node's gate for the role is open.", (r) => (r.isLeader ? 1 : 0));
    gauge(
      "leader_is_heir",
      "1 while this node has seen the role's leader alive and waits for its end, to take over at once.",
      (r) => (r.isHeir ? 1 : 0),
    );
    gauge("leader_epoch", "The role's epoch as this node last saw it.", (r) => Number(r.epoch));
    gauge("leader_tenure_seconds", "How long this node has led the role.", (r) => r.tenureSeconds);
    gauge(
      "leader_trust_remaining_seconds",
      "How long the last confirmed renewal is still worth.",
      (r) => r.trustRemainingSeconds,
    );
    gauge("leader_heartbeat_age_seconds", "Time since the last answered beat was sent.", (r) => r.heartbeatAgeSeconds);
  }

  /** Takes our metrics out of a registry that may serve another node of the process later. */
  remove(): void {
    for (const name of this.names) this.registry.removeSingleMetric(name);
  }

  observeBeat(durationMs: number): void {
    for (const role of this.readings.keys()) this.heartbeatSeconds.observe({ role }, durationMs / 1000);
  }

  addRole(role: Role, reading: () => ElectionReading): void {
    this.readings.set(role, reading);
    for (const counter of [
      this.elections,
      this.acquired,
      this.failovers,
      this.gateBlocked,
      this.fenceRejected,
      this.leaderless,
    ]) {
      counter.inc({ role }, 0);
    }
    for (const reason of lossReasons) this.lost.inc({ role, reason }, 0);
    this.acquireSeconds.zero({ role });
    this.failoverSeconds.zero({ role });
    this.heartbeatSeconds.zero({ role });
  }
}

function namesIn(registry: Registry): ReadonlySet<string> {
  return new Set(registry.getMetricsAsArray().map((metric) => metric.name));
}
