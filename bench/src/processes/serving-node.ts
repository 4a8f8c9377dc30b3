import { setTimeout as pause } from "node:timers/promises";
import { pino } from "pino";
import { createJobs, createNode, startHttpServer } from "../holdfast.js";
import { takeOrders, tell } from "./parent.js";

const lookMs = 2;

/** A node with default settings that leads, its jobs and its HTTP server: what `holdfast serve` runs. */
export function run(url: string): void {
  takeOrders(async (order) => {
    if (order.kind !== "serve") return;
    const node = await createNode({
      store: { url },
      cluster: { enabled: true },
      api: { port: 0 },
      logger: pino({ level: "silent" }),
    });
    const jobs = createJobs(node);
    const { maxConnections } = order;
    const server = await startHttpServer(node, maxConnections === undefined ? {} : { maxConnections });
    while (!jobs.isOpen) await pause(lookMs);
    tell({ kind: "serving", url: server.url });
  });
}
