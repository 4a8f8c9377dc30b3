import type { FenceToken } from "../contract.js";
import type { MetricsBook, ProcessCopy } from "../metrics-contract.js";
import type { MemoryCluster } from "./cluster.js";

type Fenced = (fence: FenceToken, fn: (tx: { onCommit(effect: () => void): void }) => Promise<void>) => Promise<void>;

/** The metrics of the cluster in memory. */
export function memoryMetrics(shared: MemoryCluster, fenced: Fenced): MetricsBook {
  const { metrics, snapshots, database } = shared;
  return {
    async copies() {
      const copies = [...snapshots].map(([incarnation, { nodeId, at, text }]): ProcessCopy => {
        const isGone = !shared.isLiving(nodeId, incarnation);
        return { nodeId, incarnation, ageMs: database.now() - at, text, isGone };
      });
      return await Promise.resolve(copies.sort((one, other) => (one.nodeId < other.nodeId ? -1 : 1)));
    },
    async processes() {
      const now = database.now();
      const all = [...metrics.processes.values()].map(({ takenAt, ...rest }) => ({ ...rest, ageMs: now - takenAt }));
      return await Promise.resolve(all.sort((one, other) => (one.incarnation < other.incarnation ? -1 : 1)));
    },
    async keep(fence, { processes, retired, takenIn, totals, nodes, pointsKeptMs }) {
      const apply = (): void => {
        const at = database.now();
        for (const process of processes) metrics.processes.set(process.incarnation, { ...process, takenAt: at });
        for (const incarnation of retired) metrics.processes.delete(incarnation);
        for (const incarnation of takenIn) snapshots.delete(incarnation as ProcessCopy["incarnation"]);
        metrics.points = [...metrics.points, { at, totals, nodes }].filter((point) => point.at >= at - pointsKeptMs);
      };
      await fenced(fence, async (tx) => await Promise.resolve(tx.onCommit(apply)));
    },
    async totals(process) {
      const last = metrics.points.at(-1);
      if (last === undefined) return await Promise.resolve(null);
      const ofProcess = process === undefined ? "" : (metrics.processes.get(process)?.text ?? "");
      return { at: last.at, ageMs: database.now() - last.at, text: last.totals, ofProcess };
    },
    async points(withinMs) {
      return await Promise.resolve(metrics.points.filter(({ at }) => at >= database.now() - withinMs));
    },
  };
}
