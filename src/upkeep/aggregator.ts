import type { Clock } from "../election/clock.js";
import type { LeaderTerm } from "../election/term.js";
import type { FenceToken } from "../store/fence-token.js";
import type { MetricsBook, ProcessCopy } from "../store/metrics-contract.js";
import { asClusterTotals, type Counters, raised, readCounters, summed, writeCounters } from "../telemetry/counters.js";
import { mergeMetrics } from "../telemetry/merged-metrics.js";
import { untilEnd } from "./term-rounds.js";

export interface AggregatorParts {
  readonly book: MetricsBook;
  readonly prefix: string;
  readonly clock: Clock;
  readonly trouble: (what: string, error: unknown) => void;
}

const everyMs = 15_000;
/** A copy that is older says nothing of now. */
const copyLifetimeMs = 45_000;
/** For rates over up to an hour, and to look back from. */
const pointsKeptMs = 2 * 3_600_000;
/** A process that was not seen for so long does not come back: its counters need no row of their own. */
const processLifetimeMs = 7 * 86_400_000;
/** The counters of those long gone, together. */
const theGone = "";
/** So often what is in the database is read anew, and the long gone are put together. */
const roundsBetweenLooks = 240;

interface Known {
  readonly nodeId: string;
  readonly counters: Counters;
}

/**
 * The work of the leader of `metrics_aggregator`. A total is the sum, over every process that was ever seen, of the highest value
 * of its last copies: it never goes down, whoever dies, restarts or takes this role over.
 */
export class MetricsAggregator {
  private readonly parts: AggregatorParts;

  constructor(parts: AggregatorParts) {
    this.parts = parts;
  }

  async lead({ fence, signal }: Pick<LeaderTerm<unknown>, "fence" | "signal">): Promise<void> {
    let known: Map<string, Known> | null = null;
    let rounds = 0;
    const run = async (): Promise<void> => {
      const copies = await this.parts.book.copies();
      const retired: string[] = [];
      const processes: Map<string, Known> = known ?? (await this.look(copies, retired));
      known = null; // Whatever goes wrong from here on, the database knows what was kept.
      await this.round(fence, { copies, processes, retired });
      rounds += 1;
      known = rounds % roundsBetweenLooks === 0 ? null : processes;
    };
    await untilEnd(this.parts, signal, { what: "put the metrics of the cluster together", everyMs, run });
  }

  /** What the database has of every process. Those long gone are put together; `retired` names them afterwards. */
  private async look(copies: readonly ProcessCopy[], retired: string[]): Promise<Map<string, Known>> {
    const processes = await this.parts.book.processes();
    const known = new Map<string, Known>(
      processes.map(({ incarnation, nodeId, text }) => [incarnation, { nodeId, counters: readCounters(text) }]),
    );
    const seen = new Set<string>([theGone, ...copies.map(({ incarnation }) => incarnation)]);
    for (const { incarnation, ageMs } of processes) {
      if (ageMs > processLifetimeMs && !seen.has(incarnation)) retired.push(incarnation);
    }
    if (retired.length === 0) return known;
    const counters = summed([theGone, ...retired].map((incarnation) => countersOf(known, incarnation)));
    for (const incarnation of retired) known.delete(incarnation);
    return known.set(theGone, { nodeId: "", counters });
  }

  private async round(
    fence: FenceToken,
    {
      copies,
      processes,
      retired,
    }: {
      readonly copies: readonly ProcessCopy[];
      readonly processes: Map<string, Known>;
      readonly retired: readonly string[];
    },
  ): Promise<void> {
    const { book, prefix } = this.parts;
    for (const { incarnation, nodeId, text } of copies) {
      processes.set(incarnation, { nodeId, counters: raised(countersOf(processes, incarnation), readCounters(text)) });
    }
    const changed = new Set<string>(copies.map(({ incarnation }) => incarnation));
    if (retired.length > 0) changed.add(theGone);
    const totals = summed([...processes.values()].map(({ counters }) => counters));
    await book.keep(fence, {
      processes: [...processes]
        .filter(([incarnation]) => changed.has(incarnation))
        .map(([incarnation, { nodeId, counters }]) => ({ incarnation, nodeId, text: writeCounters(counters) })),
      retired,
      takenIn: copies.filter(({ isGone }) => isGone).map(({ incarnation }) => incarnation),
      totals: writeCounters(asClusterTotals(totals, prefix)),
      nodes: mergeMetrics(copies.filter(({ isGone, ageMs }) => !isGone && ageMs <= copyLifetimeMs)),
      pointsKeptMs,
    });
  }
}

const countersOf = (processes: ReadonlyMap<string, Known>, incarnation: string): Counters =>
  processes.get(incarnation)?.counters ?? new Map();
