/** What a cron that fires each second was seen to do, with a job for each tick that it missed (`catch_up`). */
export interface CronHistory {
  readonly name: string;
  /** As they were decided on, in seconds. */
  readonly ticks: readonly { readonly second: number; readonly jobId: string | null }[];
  /** Of all jobs that name this cron. */
  readonly jobs: readonly { readonly jobId: string; readonly second: number }[];
}

export interface TickViolation {
  readonly kind: "tick_lost" | "tick_doubled" | "tick_alone";
  readonly text: string;
}

/** Each second once, in order, and one job for each. */
export function tickViolations({ name, ticks, jobs }: CronHistory): readonly TickViolation[] {
  const found: TickViolation[] = [];
  const say = (kind: TickViolation["kind"], why: string) => found.push({ kind, text: `${name}: ${why}` });
  let last: number | null = null;
  for (const { second, jobId } of ticks) {
    if (last !== null && second <= last) say("tick_doubled", `${second} came after ${last}`);
    else if (last !== null && second > last + 1) say("tick_lost", `${second} came right after ${last}`);
    last = Math.max(second, last ?? second);
    const own = jobs.filter((job) => job.second === second);
    if (own.length > 1) say("tick_doubled", `${second} has ${own.length} jobs`);
    if (own[0]?.jobId !== jobId || jobId === null) say("tick_alone", `${second} has no job, or another than it says`);
  }
  const decided = new Set(ticks.map(({ second }) => second));
  for (const { jobId, second } of jobs) {
    if (!decided.has(second)) say("tick_alone", `${jobId} is of ${second}, which was not decided on`);
  }
  return found;
}
