/** `holdfast/jobs`: jobs that agents take, with one leader who hands them out. */
export type { Job, JobState, Json } from "./jobs/core/job.js";
export { createJobs, type JobsNode } from "./jobs/create-jobs.js";
export type { Jobs, ReportedResult } from "./jobs/jobs.js";
export type { LeaseWish } from "./jobs/lease-polls.js";
export type { NewJob } from "./jobs/new-job.js";
