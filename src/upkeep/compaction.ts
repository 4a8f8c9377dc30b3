import type { JobState } from "../jobs/core/job.js";
import type { Store } from "../store/contract.js";
import type { FenceToken } from "../store/fence-token.js";
import type { Compaction } from "../store/job-contract.js";
import type { Compacted } from "../telemetry/compaction-metrics.js";

export type CompactionBooks = Pick<Store<unknown>, "jobs" | "crons" | "compaction">;

/** How long things are kept, in days; 0 keeps them. */
export interface Retention {
  readonly jobsDays: number;
  readonly deadJobsDays: number;
  readonly eventsDays: number;
  readonly historyDays: number;
  readonly auditDays: number;
}

/** What one slice has removed. */
export type Slice = Readonly<Partial<Record<Compacted, number>>>;

/** What a slice looks at or takes, at most: it holds up the jobs of its time, so that is a matter of milliseconds. */
const sliceSize = 250;
/** Lines that nobody waits for. */
const linesAtOnce = 1_000;
/** So many of what jobs ask for cost nobody anything. */
const fewDemands = 500;
/** Tombstones, and agents not heard of for so long. */
const agentsDays = 30;
const day = 86_400_000;
/** As long as anything can be asked to be kept. */
const foreverMs = 36_500 * day;
const afterAllJobs = Number.MAX_SAFE_INTEGER;

const kept = (days: number): number => (days === 0 ? foreverMs : days * day);

/** Forgets what is older than it has to be kept, a slice at each turn; whoever takes the turns decides on the pace. */
export async function* compactionOf(
  books: CompactionBooks,
  retention: Retention,
  fence: FenceToken,
): AsyncGenerator<Slice, void, undefined> {
  const { jobsDays, deadJobsDays, historyDays, auditDays } = retention;
  yield* oldJobs(books, fence, ["succeeded", "cancelled"], jobsDays);
  yield* oldJobs(books, fence, ["failed", "dead"], deadJobsDays);
  yield* oldEvents(books, fence, retention.eventsDays);
  if (historyDays > 0) {
    yield* lines("cron_ticks", () => books.crons.forget(fence, kept(historyDays), linesAtOnce));
    yield* lines("history", () => books.compaction.forgetHistory(fence, historyDays, linesAtOnce));
  }
  if (auditDays > 0) yield* lines("audit", () => books.compaction.forgetAudit(fence, auditDays, linesAtOnce));
  yield* lines("demands", () => books.compaction.forgetDemands(fence, fewDemands, linesAtOnce));
}

async function* oldJobs(books: CompactionBooks, fence: FenceToken, states: readonly JobState[], days: number) {
  if (days === 0) return;
  const ages = { jobsOlderThanMs: kept(days), eventsOlderThanMs: foreverMs, agentsOlderThanMs: foreverMs };
  for (let from: number | null = 0; from !== null; ) {
    const order = { states, ...ages, from, limit: sliceSize };
    const { jobs, next }: Compaction = await books.jobs.compact(fence, order);
    from = next;
    yield { jobs } satisfies Slice;
  }
}

/** And the agents that nobody has heard of. */
async function* oldEvents({ jobs }: CompactionBooks, fence: FenceToken, days: number) {
  const ages = { jobsOlderThanMs: foreverMs, eventsOlderThanMs: kept(days), agentsOlderThanMs: kept(agentsDays) };
  for (let gone = 1; gone > 0; ) {
    const { events, agents } = await jobs.compact(fence, { states: [], ...ages, from: afterAllJobs, limit: sliceSize });
    gone = events;
    yield { events, agents } satisfies Slice;
  }
}

async function* lines(what: Compacted, forget: () => Promise<number>) {
  for (let gone = linesAtOnce; gone === linesAtOnce; ) {
    gone = await forget();
    yield { [what]: gone } satisfies Slice;
  }
}
