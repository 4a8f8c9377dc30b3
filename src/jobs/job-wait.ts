import type { Clock } from "../election/clock.js";
import { pause } from "../lifecycle/pause.js";
import type { JobBook } from "../store/job-contract.js";
import { isFinished, type Job } from "./core/job.js";
import type { EventFeed } from "./event-feed.js";

/**
 * The job when it is finished, or as it is after so long; null where there is none. It is read when the events tell of its end,
 * and not again and again.
 */
export async function finishedJob(
  jobId: string,
  waitMs: number,
  signal: AbortSignal,
  { book, feed, clock }: { readonly book: Pick<JobBook, "job">; readonly feed: EventFeed; readonly clock: Clock },
): Promise<Job | null> {
  const first = await book.job(jobId);
  if (first === null || isFinished(first.state) || waitMs <= 0) return first;
  const until = clock.mono() + waitMs;
  using following = feed.follow();
  const over = new AbortController();
  const stop = AbortSignal.any([signal, over.signal]);
  const expiry = pause(clock, waitMs, stop);
  await Promise.race([following.ready, expiry]);
  try {
    for (;;) {
      const changed = new AbortController();
      using _watching = feed.watch((event) => {
        if (event === null || isOf(event.data, jobId)) changed.abort();
      });
      // Read after the watching has begun: an end in between is seen either way.
      const job = await book.job(jobId);
      const leftMs = until - clock.mono();
      if (job === null || isFinished(job.state) || leftMs <= 0 || signal.aborted) return job;
      await pause(clock, leftMs, AbortSignal.any([stop, changed.signal]));
    }
  } finally {
    over.abort();
  }
}

function isOf(data: unknown, jobId: string): boolean {
  return typeof data === "object" && data !== null && (data as { readonly job_id?: unknown }).job_id === jobId;
}
