import { Registry } from "prom-client";
import { AlertRoom } from "../../src/alerts/alert-room.js";
import { type ConfigOptions, resolveConfig } from "../../src/config/config.js";
import type { Incarnation, NodeId } from "../../src/election/core/names.js";
import { HoldfastError } from "../../src/errors.js";
import type { Posture } from "../../src/membership/posture.js";
import type { AlertBook, KnownAlerts } from "../../src/store/alert-contract.js";
import { UpkeepScene } from "./upkeep-scene.js";

/** A database in memory with nodes that evaluate alerts on it. Time passes when the test says so. */
export class AlertScene extends UpkeepScene {
  /** Who leads metrics_aggregator. */
  leaderId: string | null = null;
  /** Nodes that the database does not answer. */
  readonly cutOff = new Set<string>();
  /** Runs before each write of a round, and may throw. */
  beforeKeep: (nodeId: string) => void = () => undefined;
  readonly rooms = new Map<string, AlertRoom>();

  /** A node whose own metrics are what `metrics` says when it is asked. */
  start(nodeId: string, options: ConfigOptions, metrics: () => string): AlertRoom {
    const config = resolveConfig({ ...options, cluster: { ...options.cluster, nodeId } }, true);
    const registry = new Registry();
    registry.metrics = async () => await Promise.resolve(metrics());
    const posture = (): Posture => ({ leaderId: this.leaderId }) as Posture;
    const store = { alerts: this.reached(nodeId, this.store.alerts), metrics: this.store.metrics };
    const parts = { config, registry, clock: this.clock, random: () => 0.5, log: this.log, store };
    const room = new AlertRoom({ id: nodeId, posture }, parts, this.trouble);
    this.rooms.set(nodeId, room);
    room.open();
    return room;
  }

  /** A node's metrics as it leaves them for others. */
  leaveCopy(nodeId: string, text: string): void {
    this.shared.nodes.set(nodeId, { nodeId, incarnation: `${nodeId}-1`, status: "active" } as never);
    const incarnation = `${nodeId}-1` as Incarnation;
    this.shared.snapshots.set(incarnation, { nodeId: nodeId as NodeId, at: this.database.now(), text });
  }

  /** What the log was told, as kind and rule. */
  get told(): readonly string[] {
    return this.lines
      .filter(({ alert }) => alert !== undefined)
      .map(({ state, alert }) => `${String(state)} ${String(alert)}`);
  }

  private reached(nodeId: string, book: AlertBook): AlertBook {
    const away = async (): Promise<never> =>
      await Promise.reject(new HoldfastError("DATABASE_AWAY", "connect ECONNREFUSED"));
    return new Proxy(book, {
      get: (target, name: keyof AlertBook) => {
        const call = target[name] as (...given: unknown[]) => Promise<unknown>;
        return async (...given: unknown[]) => {
          if (this.cutOff.has(nodeId)) return await away();
          if (name === "keep") this.beforeKeep(nodeId);
          // Which copies there are, the test says.
          if (name === "exchange") return await target.look(given[1] as KnownAlerts);
          return await Reflect.apply(call, target, given);
        };
      },
    });
  }

  close(): void {
    for (const room of this.rooms.values()) room.remove();
  }
}
