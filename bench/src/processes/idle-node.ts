import { once } from "node:events";
import { pino } from "pino";
// Not with the others in holdfast.ts: this process loads what a program loads that only wants to lead, and no more.
import { createNode } from "../../../dist/index.js";
import { roleName } from "../messages.js";
import { takeOrders, tell } from "./parent.js";

/** A node in a cluster that leads and has nothing to do. */
export function run(url: string): void {
  let started: Awaited<ReturnType<typeof createNode>> | null = null;
  takeOrders(async (order) => {
    if (order.kind === "run") {
      const from = performance.now();
      started = await createNode({ store: { url }, cluster: { enabled: true }, logger: pino({ level: "silent" }) });
      const role = started.role(roleName);
      if (!role.gate.isLeader) await once(role, "elected");
      tell({ kind: "started", electedMs: performance.now() - from });
    } else if (order.kind === "stop") {
      await started?.close();
      tell({ kind: "stopped", commits: 0 });
    }
  });
}
