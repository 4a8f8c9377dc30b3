import type { Registry } from "prom-client";
import type { Config } from "../config/config.js";
import { HoldfastError } from "../errors.js";
import type { NodeReport } from "../membership/node-row.js";
import type { Store } from "../store/contract.js";
import type { EngineBook } from "../store/engine-contract.js";
import { EngineMetrics } from "../telemetry/engine-metrics.js";
import { type MessageCounts, messageCounts } from "../telemetry/message-counts.js";
import type { Convergence } from "./convergence.js";
import { createEngine, type LoadedGraph, loadGraph, type RunningEngine } from "./create-engine.js";
import type { Engine } from "./engine.js";
import type { EngineNode } from "./engine-parts.js";
import type { Replaying } from "./replay.js";
import { type SeenReference, seenReferences } from "./seen-references.js";
import { type SeenConnection, toldConnections } from "./told-connections.js";

export interface EngineRoomParts {
  readonly config: Config;
  readonly registry: Registry;
  readonly report: Pick<NodeReport, "nodeId" | "incarnation">;
  readonly store: Pick<Store<unknown>, "engine" | "connections" | "metrics" | "openOutside">;
}

/** What has become of messages, over all nodes and restarts. */
export interface CountedMessages {
  /** When the totals of the cluster were put together, in milliseconds since 1970; null where there are none yet. */
  readonly at: number | null;
  readonly of: (connection: string) => MessageCounts;
}

/** Where a node keeps its engine, if it has one. What is stored of messages can be read on every node, with or without it. */
export class EngineRoom {
  readonly book: EngineBook;
  private readonly node: EngineNode & { readonly config: Config };
  private readonly parts: EngineRoomParts;
  private readonly over = new AbortController();
  private running: RunningEngine | null = null;
  private metrics: EngineMetrics | null = null;
  private heardVersion = 0;

  constructor(node: EngineNode & { readonly config: Config }, parts: EngineRoomParts) {
    this.node = node;
    this.parts = parts;
    this.book = parts.store.engine;
  }

  /** Loads the folder and contends for role `engine`. Rejects with every problem of the folder, and nothing has begun. */
  async open(graph: string | LoadedGraph): Promise<Engine> {
    if (this.running !== null) throw new HoldfastError("REFUSED", "This node has opened a graph already.");
    const { store, registry, config, report } = this.parts;
    // What was loaded before anything was heard of may be older than what the others run: it is loaded once more then.
    const known = typeof graph === "string" ? this.heardVersion : 0;
    const loaded = typeof graph === "string" ? await loadGraph(graph, config) : graph;
    const metrics = new EngineMetrics(registry, config.metrics.prefix);
    this.metrics = metrics;
    const running = createEngine(
      {
        node: this.node,
        book: store.engine,
        connectionBook: store.connections,
        metrics,
        me: report,
        openOutside: store.openOutside,
      },
      loaded,
    );
    this.running = running;
    await running.convergence.begin(known);
    running.convergence.heard(this.heardVersion);
    void running.engine.follow(this.over.signal);
    return running.engine;
  }

  /** Null where this node runs no graph. */
  get engine(): Engine | null {
    return this.running?.engine ?? null;
  }

  get convergence(): Convergence | null {
    return this.running?.convergence ?? null;
  }

  get replaying(): Replaying | null {
    return this.running?.replaying ?? null;
  }

  /** The version of the configuration that runs here; null where this node has none of its own. */
  get version(): number | null {
    return this.running?.convergence.version ?? null;
  }

  /** The newest version that this node has heard of, whether or not it could load it. */
  get sharedVersion(): number {
    return Math.max(this.heardVersion, this.version ?? 0);
  }

  /** How the connections are doing: the leader's own, or as the leader last told. */
  async connections(): Promise<readonly SeenConnection[]> {
    return await (this.engine?.connections() ?? toldConnections(this.parts.store.connections, null));
  }

  /** The totals of the cluster, and what this node has counted since: on the leader all of it, elsewhere as old as the totals. */
  async counted(): Promise<CountedMessages> {
    const { store, config, report } = this.parts;
    const totals = await store.metrics.totals(report.incarnation);
    const now = (await this.metrics?.text()) ?? "";
    const texts = { totals: totals?.text ?? "", taken: totals?.ofProcess ?? "", now };
    return { at: totals?.at ?? null, of: messageCounts(config.metrics.prefix, texts) };
  }

  /** What is published of the reference sets, and which of them fail. */
  async references(): Promise<readonly SeenReference[]> {
    return await seenReferences(this.book, this.engine?.graph ?? null);
  }

  /** Told with every beat. */
  heard(version: number): void {
    this.heardVersion = version;
    this.running?.convergence.heard(version);
  }

  /** The node is closing. */
  remove(): void {
    this.over.abort();
    this.metrics?.remove();
  }
}
