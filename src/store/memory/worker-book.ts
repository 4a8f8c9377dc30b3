import type { WorkerBook } from "../worker-contract.js";
import type { MemoryCluster } from "./cluster.js";
import type { MemoryRegistry } from "./registry.js";

/** What workers and the leader say to each other, in memory. */
export function memoryWorkerBook(shared: MemoryCluster, registry: MemoryRegistry): WorkerBook {
  const { workerOrders: orders, requested } = shared;
  const isLiving = (incarnation: string, nodeTimeoutMs: number): boolean => {
    const node = [...shared.nodes.values()].find((each) => each.incarnation === incarnation);
    if (node === undefined) return false;
    return node.status !== "left" && shared.database.now() - node.lastHeartbeat <= nodeTimeoutMs;
  };
  const tellLeader = (): void => queueMicrotask(() => requested.emit("order"));
  return {
    async send(id, body) {
      const { nodeId, incarnation } = registry.holder;
      if (!orders.has(id)) orders.set(id, { nodeId, incarnation, body: structuredClone(body), answer: null });
      tellLeader();
      await Promise.resolve();
    },
    async withdraw(id) {
      const order = orders.get(id);
      if (orders.delete(id) && order?.answer === null) tellLeader();
      return await Promise.resolve(order?.answer ?? null);
    },
    async collect() {
      const mine = [...orders].filter(([, { incarnation }]) => incarnation === registry.holder.incarnation);
      const answered = mine.filter(([, { answer }]) => answer !== null);
      for (const [id] of answered) orders.delete(id);
      return await Promise.resolve({
        answers: answered.map(([id, { answer }]) => ({ id, answer })),
        waiting: mine.filter(([, { answer }]) => answer === null).map(([id]) => id),
      });
    },
    async pending(known, nodeTimeoutMs) {
      const wanted = [...orders].filter(
        ([, { answer, incarnation }]) => answer === null && isLiving(incarnation, nodeTimeoutMs),
      );
      return await Promise.resolve(
        wanted.map(([id, { nodeId, incarnation, body }]) => ({
          id,
          nodeId,
          incarnation,
          body: known.includes(id) ? null : structuredClone(body),
        })),
      );
    },
    async answer(answers) {
      const told = new Set<string>();
      for (const { id, answer } of answers) {
        const order = orders.get(id);
        if (order?.answer !== null) continue;
        orders.set(id, { ...order, answer: structuredClone(answer) });
        told.add(order.nodeId);
      }
      for (const nodeId of told) queueMicrotask(() => requested.emit("answer", nodeId));
      await Promise.resolve();
    },
    async forsaken(nodeTimeoutMs) {
      for (const [id, { incarnation }] of orders) if (!isLiving(incarnation, nodeTimeoutMs)) orders.delete(id);
      const leases = shared.jobs.workerLeases();
      return await Promise.resolve(
        leases.filter(({ leaseId }) => !isLiving(leaseId.split(":")[1] ?? "", nodeTimeoutMs)),
      );
    },
  };
}
