import { Counter, Gauge, type Registry } from "prom-client";
import { BulkHistogram } from "./bulk-histogram.js";

/** What the gauges of a queue are read from, when somebody asks. */
export interface QueueReading {
  /** Unfinished messages by stage, from memory: every stage, at 0 where this node does not lead. */
  depth(): Readonly<Record<string, number>>;
  /** 0 where there is no message, or this node does not lead. Never rejects. */
  oldestSeconds(): Promise<number>;
}

/** Where a queue counts what it does: for many messages at once. */
export interface QueueCounts {
  delivered(messages: number): void;
  dead(messages: number): void;
  reclaimed(lanes: number): void;
  /** From when a message was taken in to when it was handled. */
  readonly deliveryTimes: { observe(seconds: number): void };
}

const deliverySeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600];

/** The metrics of queues (CONTRACT section 5). Every series of a queue exists from the moment it is made. */
export class QueueMetrics {
  private readonly registry: Registry;
  private readonly prefix: string;
  private readonly readings = new Map<string, QueueReading>();
  private readonly delivered: Counter<"queue">;
  private readonly dead: Counter<"queue">;
  private readonly reclaimed: Counter<"queue">;
  private readonly deliveryTimes: BulkHistogram<"queue">;

  constructor(registry: Registry, prefix: string) {
    this.registry = registry;
    this.prefix = prefix;
    const counter = (name: string, help: string): Counter<"queue"> =>
      new Counter({ name: `${prefix}${name}`, help, labelNames: ["queue"], registers: [registry] });
    this.delivered = counter("queue_delivered_total", "Messages that this node's handlers have finished.");
    this.dead = counter("queue_dead_total", "Messages that this node has put aside as dead letters.");
    this.reclaimed = counter("queue_reclaimed_total", "Lanes whose claim was lost and that this node has taken back.");
    this.deliveryTimes = new BulkHistogram({
      name: `${prefix}queue_delivery_seconds`,
      help: "Time from when a message was taken in, by the database's clock, to when it was handled, by this node's.",
      label: "queue",
      bounds: deliverySeconds,
      registry,
    });
    this.addGauges();
  }

  private addGauges(): void {
    const { readings, prefix, registry } = this;
    new Gauge({
      name: `${prefix}queue_depth`,
      help: "Messages that are not finished, as the leader knows; 0 on the others.",
      labelNames: ["stage", "queue"],
      registers: [registry],
      collect() {
        for (const [queue, reading] of readings) {
          for (const [stage, depth] of Object.entries(reading.depth())) this.set({ stage, queue }, depth);
        }
      },
    });
    new Gauge({
      name: `${prefix}queue_oldest_seconds`,
      help: "For how long the oldest unfinished message has been there, as the leader knows; 0 on the others.",
      labelNames: ["queue"],
      registers: [registry],
      async collect() {
        const reads = [...readings].map(async ([queue, reading]) => {
          this.set({ queue }, await reading.oldestSeconds());
        });
        await Promise.all(reads);
      },
    });
  }

  addQueue(queue: string, reading: QueueReading): QueueCounts {
    this.readings.set(queue, reading);
    for (const counter of [this.delivered, this.dead, this.reclaimed]) counter.inc({ queue }, 0);
    return {
      delivered: (messages) => this.delivered.inc({ queue }, messages),
      dead: (messages) => this.dead.inc({ queue }, messages),
      reclaimed: (lanes) => this.reclaimed.inc({ queue }, lanes),
      deliveryTimes: this.deliveryTimes.of(queue),
    };
  }

  /** Takes our metrics out of a registry that may serve another node of the process later. */
  remove(): void {
    const names = ["depth", "oldest_seconds", "delivered_total", "dead_total", "reclaimed_total", "delivery_seconds"];
    for (const name of names) this.registry.removeSingleMetric(`${this.prefix}queue_${name}`);
  }
}
