import type { Logger } from "pino";
import { Registry } from "prom-client";
import { AlertRoom } from "../../src/alerts/alert-room.js";
import type { Config } from "../../src/config/config.js";
import { systemClock } from "../../src/election/clock.js";
import type { Posture } from "../../src/membership/posture.js";
import type { AlertBook } from "../../src/store/alert-contract.js";
import { memoryAlerts } from "../../src/store/memory/alert-book.js";
import type { MemoryAlertTables } from "../../src/store/memory/alert-tables.js";

/** The alerts of a node that evaluates nothing by itself: what stands in the tables is the test's. */
export function standInAlerts(
  tables: MemoryAlertTables,
  node: {
    readonly id: string;
    readonly config: Config;
    readonly log: Logger;
    readonly posture: (role: string) => Posture;
    readonly troubled: (book: AlertBook) => AlertBook;
  },
): AlertRoom {
  const { config, log } = node;
  const metrics = { copies: async () => await Promise.resolve([]) };
  const snapshots = { save: async () => await Promise.resolve() };
  const store = { alerts: node.troubled(memoryAlerts(tables, () => Date.now(), snapshots)), metrics };
  const parts = { config, log, store, registry: new Registry(), clock: systemClock, random: () => 0.5 };
  return new AlertRoom(node, parts, () => undefined);
}
