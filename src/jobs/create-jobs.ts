import type { Jobs } from "./jobs.js";

/** What `createJobs` needs of a node. A `HoldfastNode` is one. */
export interface JobsNode {
  readonly jobs: Jobs;
}

/** The jobs of this node, which from here on contends for their role and hands them out where it leads. Twice is once. */
export function createJobs(node: JobsNode): Jobs {
  return node.jobs.open();
}
