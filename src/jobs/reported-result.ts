import type { Result } from "../store/job-orders.js";
import type { Json } from "./core/job.js";
import type { JobSettings } from "./job-settings.js";
import { checkJson, storableText } from "./new-job.js";

/** A result as an agent reports it. */
export interface ReportedResult {
  readonly leaseId: string;
  readonly jobId: string;
  readonly jobEpoch: number;
  readonly agent: string;
  readonly outcome:
    | { readonly status: "succeeded"; readonly result: Json }
    /** `retry: false`: no further attempt would help. */
    | { readonly status: "failed"; readonly error: string; readonly retry: boolean };
}

const longestError = 4_096;

/** The order to write it down. What cannot be kept is refused before anything is written. */
export function resultOrder(
  { leaseId, jobId, jobEpoch, agent, outcome }: ReportedResult,
  { backoff }: Pick<JobSettings, "backoff">,
  random: () => number,
): Result {
  const order = { kind: "result", leaseId, jobId, jobEpoch, agent } as const;
  if (outcome.status === "succeeded") {
    checkJson("result", outcome.result);
    return { ...order, outcome: { kind: "succeeded", result: outcome.result } };
  }
  const error = storableText(outcome.error, longestError);
  if (!outcome.retry) return { ...order, outcome: { kind: "failed_for_good", error } };
  return { ...order, outcome: { kind: "failed", error, backoff, jitter: random() } };
}
