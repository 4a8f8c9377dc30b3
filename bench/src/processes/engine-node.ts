import { pino } from "pino";
import { createNode } from "../holdfast.js";
import { takeOrders, tell } from "./parent.js";

/** A node with default settings that leads and runs a graph; and answers whoever looks for messages. */
export function run(url: string): void {
  const started = createNode({ store: { url }, cluster: { enabled: true }, logger: pino({ level: "silent" }) });
  takeOrders(async (order) => {
    const node = await started;
    if (order.kind === "openGraph") {
      await node.engine.open(order.folder);
      tell({ kind: "opened" });
    } else if (order.kind === "search") {
      const from = performance.now();
      const { items } = await node.engine.book.search(order.filter, { limit: order.limit });
      tell({ kind: "searched", ms: performance.now() - from, found: items.length });
    }
  });
}
