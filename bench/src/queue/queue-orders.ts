import pg from "pg";
import { takeOrders, tell } from "../processes/parent.js";
import { measure, type QueueLoad, type QueueUnderTest } from "./queue-load.js";

/** A child process that measures queues, load after load, each when it is told to. */
export function takeQueueOrders(
  url: string,
  open: (name: string, load: QueueLoad, address: string) => Promise<QueueUnderTest>,
): void {
  const queues = new Map<string, Promise<QueueUnderTest>>();
  takeOrders(async (order) => {
    if (order.kind !== "measure") return;
    const queue = queues.get(order.queue) ?? open(order.queue, order.load, order.address ?? "");
    queues.set(order.queue, queue);
    tell({ kind: "measured", ...(await measure(await queue, order.load, () => analyze(url))) });
  });
}

async function analyze(url: string): Promise<void> {
  const session = new pg.Client({ connectionString: url });
  await session.connect();
  await session.query("analyze");
  await session.end();
}
