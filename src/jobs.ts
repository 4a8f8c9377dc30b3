/** `holdfast/jobs`: jobs that agents take, with one leader who hands them out. */
export { Agent } from "./jobs/agent/agent.js";
export type { AgentLog } from "./jobs/agent/agent-log.js";
export type { AgentCounts } from "./jobs/agent/agent-parts.js";
export type { AgentOptions } from "./jobs/agent/agent-settings.js";
export { FinalError, type Operation, type OperationContext, type Operations } from "./jobs/agent/operation.js";
export { loadOperations } from "./jobs/agent/operations-folder.js";
export type { Job, JobState, Json } from "./jobs/core/job.js";
export { createJobs, type JobsNode } from "./jobs/create-jobs.js";
export type { Crons, SeenCron, SeenTick } from "./jobs/crons.js";
export type { Jobs } from "./jobs/jobs.js";
export type { LeaseWish } from "./jobs/lease-polls.js";
export type { NewCron } from "./jobs/new-cron.js";
export type { NewJob } from "./jobs/new-job.js";
export type { ReportedResult } from "./jobs/reported-result.js";
export type { Employment } from "./jobs/worker/worker.js";
