import type { Jobs } from "./jobs.js";
import type { Employment, Worker } from "./worker/worker.js";

/** What `createJobs` needs of a node. A `HoldfastNode` is one. */
export interface JobsNode {
  readonly jobs: Jobs;
  readonly worker: Pick<Worker, "employ">;
}

/**
 * The jobs of this node, which from here on contends for their role and hands them out where it leads. With operations or functions
 * it works on them, too, as one of the cluster's workers. Opened twice is once; employed twice is both.
 */
export function createJobs(node: JobsNode, employment: Employment = {}): Jobs {
  node.worker.employ(employment);
  return node.jobs.open();
}
