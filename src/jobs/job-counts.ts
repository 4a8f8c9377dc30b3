import type { Clock } from "../election/clock.js";
import { within } from "../lifecycle/within.js";
import type { JobStanding } from "../store/job-contract.js";
import { type JobState, jobStates } from "./core/job.js";

/** How old a reading may be, and how long one may take. */
const freshMs = 1_000;
const patienceMs = 1_000;

const none = Object.fromEntries(jobStates.map((state) => [state, 0])) as Readonly<Record<JobState, number>>;

/** Jobs by state for the metrics, which are read by whoever likes, as often as they like: the database is asked less often. */
export class JobCountsReading {
  private readonly clock: Clock;
  private readonly read: () => Promise<JobStanding>;
  private known: { readonly at: number; readonly counts: JobStanding["counts"] } | null = null;

  constructor(clock: Clock, read: () => Promise<JobStanding>) {
    this.clock = clock;
    this.read = read;
  }

  /** What was last known, where the database does not answer; 0 for each where this node does not lead. */
  async counts(isLeading: boolean): Promise<JobStanding["counts"]> {
    if (!isLeading) {
      this.known = null;
      return none;
    }
    const now = this.clock.mono();
    if (this.known !== null && now - this.known.at < freshMs) return this.known.counts;
    const before = this.known?.counts ?? none;
    const read = this.read().then(({ counts }) => counts);
    const counts = await within(patienceMs, read, () => before).catch(() => before);
    this.known = { at: now, counts };
    return counts;
  }
}
