import type { Logger } from "pino";
import type { Clock } from "../election/clock.js";
import type { LeaderTerm } from "../election/term.js";
import { pause } from "../lifecycle/pause.js";
import { type Compacted, compacted } from "../telemetry/compaction-metrics.js";
import { type CompactionBooks, compactionOf, type Retention } from "./compaction.js";
import { untilEnd } from "./term-rounds.js";

export interface CompactorParts {
  readonly books: CompactionBooks;
  readonly retention: Retention;
  readonly clock: Clock;
  readonly log: Logger;
  readonly nodeId: string;
  readonly trouble: (what: string, error: unknown) => void;
  readonly counts: { count(what: Compacted, gone: number): void };
}

const everyMs = 3_600_000;
/** After a slice the others have at least so long, and four times as long as it took: what waits for it, waits a fifth at most. */
const leastPauseMs = 20;
const pausePerWork = 4;

/** The work of the leader of `log_compactor`: one run at the start of its term, and then one an hour. */
export class Compactor {
  private readonly parts: CompactorParts;

  constructor(parts: CompactorParts) {
    this.parts = parts;
  }

  async lead(term: Pick<LeaderTerm<unknown>, "fence" | "signal">): Promise<void> {
    await untilEnd(this.parts, term.signal, { what: "compact what is old", everyMs, run: () => this.run(term) });
  }

  private async run({ fence, signal }: Pick<LeaderTerm<unknown>, "fence" | "signal">): Promise<void> {
    const { books, retention, clock, counts, log, nodeId } = this.parts;
    const startedAt = clock.mono();
    const gone = new Map<Compacted, number>();
    let slices = 0;
    const told = (): Readonly<Record<string, unknown>> => ({
      role: fence.role,
      epoch: Number(fence.epoch),
      node_id: nodeId,
      slices,
      took_ms: Math.round(clock.mono() - startedAt),
      ...Object.fromEntries(gone),
    });
    let sliceAt = startedAt;
    for await (const slice of compactionOf(books, retention, fence)) {
      slices += 1;
      for (const what of compacted) {
        const number = slice[what] ?? 0;
        if (number === 0) continue;
        counts.count(what, number);
        gone.set(what, (gone.get(what) ?? 0) + number);
      }
      await pause(clock, Math.max(leastPauseMs, pausePerWork * (clock.mono() - sliceAt)), signal);
      if (signal.aborted) return log.info(told(), "compaction stopped on the way: the next leader goes on");
      sliceAt = clock.mono();
    }
    if (gone.size > 0) log.info(told(), "compacted what was old");
    else log.debug(told(), "nothing was old enough to be compacted");
  }
}
