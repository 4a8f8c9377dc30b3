import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** What becomes of messages, as it is counted. */
export const countedStatuses = ["received", "unrouted", "filtered", "processed", "sent", "error"] as const;
type Status = (typeof countedStatuses)[number];

/** A connection as its leader sees it. */
interface Watched {
  readonly name: string;
  readonly state: string;
}

const ackSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The metrics of the message engine (CONTRACT section 5). The series of a connection exist as soon as it is configured. */
export class EngineMetrics {
  private readonly registry: Registry;
  private readonly prefix: string;
  private readonly messages: Counter<"connection" | "status">;
  private readonly acks: Histogram;
  private names: readonly string[] = [];
  private views: () => readonly Watched[] = () => [];
  private references: () => ReadonlyMap<string, boolean> = () => new Map();

  constructor(registry: Registry, prefix: string) {
    this.registry = registry;
    this.prefix = prefix;
    this.messages = new Counter({
      name: `${prefix}engine_messages_total`,
      help: "What became of messages on this node: those of an inbound, and those that an outbound has sent.",
      labelNames: ["connection", "status"],
      registers: [registry],
    });
    this.acks = new Histogram({
      name: `${prefix}engine_ack_seconds`,
      help: "Time from when a message had arrived to when its answer could be given: after the commit.",
      buckets: ackSeconds,
      registers: [registry],
    });
    const known = (): readonly string[] => this.names;
    const running = (): ReadonlySet<string> =>
      new Set(this.views().flatMap(({ name, state }) => (state === "running" ? [name] : [])));
    new Gauge({
      name: `${prefix}engine_connection_up`,
      help: "1 while this node, as the leader, runs the connection; 0 where it is stopped or failed, and on the other nodes.",
      labelNames: ["connection"],
      registers: [registry],
      collect() {
        this.reset();
        const up = running();
        for (const connection of known()) this.set({ connection }, up.has(connection) ? 1 : 0);
      },
    });
    const failing = (): ReadonlyMap<string, boolean> => this.references();
    new Gauge({
      name: `${prefix}engine_reference_failed`,
      help: "1 where this node, as the leader, could not build the reference set when it last tried; 0 elsewhere.",
      labelNames: ["reference"],
      registers: [registry],
      collect() {
        this.reset();
        for (const [reference, isFailing] of failing()) this.set({ reference }, isFailing ? 1 : 0);
      },
    });
  }

  /** Whether each reference set of the graph fails, as it is when somebody reads the metrics. */
  watchReferences(failing: () => ReadonlyMap<string, boolean>): void {
    this.references = failing;
  }

  /** Who is up is asked when somebody reads the metrics. A node that does not lead has none. */
  watch(views: () => readonly Watched[]): void {
    this.views = views;
  }

  connections(connections: readonly { readonly name: string }[]): void {
    this.names = connections.map(({ name }) => name);
    for (const connection of this.names)
      for (const status of countedStatuses) this.messages.inc({ connection, status }, 0);
  }

  /** What this process has counted, in Prometheus' format. */
  async text(): Promise<string> {
    return await this.registry.getSingleMetricAsString(`${this.prefix}engine_messages_total`);
  }

  counted(connection: string, status: Status): void {
    this.messages.inc({ connection, status });
  }

  /** Call what it returns when the answer can be given. */
  startAck(): () => void {
    return this.acks.startTimer();
  }

  /** Takes our metrics out of a registry that may serve another node of the process later. */
  remove(): void {
    for (const name of ["messages_total", "ack_seconds", "connection_up", "reference_failed"]) {
      this.registry.removeSingleMetric(`${this.prefix}engine_${name}`);
    }
  }
}
