import type { CompactionBook } from "../compaction-contract.js";
import type { FenceToken } from "../contract.js";
import type { MemoryCluster } from "./cluster.js";

type Fenced = (fence: FenceToken, fn: (tx: { onCommit(effect: () => void): void }) => Promise<void>) => Promise<void>;

const day = 86_400_000;
const leastAuditDays = 30;

/** What is forgotten beside jobs, events and ticks, in memory. What jobs ask for is no row of its own here. */
export function memoryCompaction(shared: MemoryCluster, fenced: Fenced): CompactionBook {
  const forget = async (fence: FenceToken, apply: () => number): Promise<number> => {
    let gone = 0;
    const effect = (): void => {
      gone = apply();
    };
    await fenced(fence, async (tx) => await Promise.resolve(tx.onCommit(effect)));
    return gone;
  };
  const removed = <Line extends { readonly at: number }>(
    lines: Line[],
    { days, limit }: { readonly days: number; readonly limit: number },
    mayGo: (line: Line) => boolean = () => true,
  ): number => {
    const since = shared.database.now() - days * day;
    const old = new Set(lines.slice(0, limit).filter((line) => line.at < since && mayGo(line)));
    lines.splice(0, lines.length, ...lines.filter((line) => !old.has(line)));
    return old.size;
  };
  return {
    forgetHistory: (fence, days, limit) =>
      forget(fence, () => {
        const { history } = shared.database;
        const last = new Map(history.map((line) => [line.role, line]));
        return removed(history, { days, limit }, (line) => last.get(line.role) !== line);
      }),
    forgetAudit: (fence, days, limit) =>
      forget(fence, () => removed(shared.audit, { days: Math.max(days, leastAuditDays), limit })),
    forgetDemands: (fence) => forget(fence, () => 0),
  };
}
