import type { JobState } from "../api/job-answers.js";
import type { Tone } from "../parts/badge.js";

/** The colour of each state of a job, wherever it is shown. */
export const jobTones: Readonly<Record<JobState, Tone>> = {
  queued: "info",
  leased: "warn",
  succeeded: "good",
  failed: "bad",
  dead: "bad",
  cancelled: "quiet",
};
