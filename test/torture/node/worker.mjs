import { setTimeout as pause } from "node:timers/promises";
import { now } from "./journal.mjs";

/**
 * The node as one of the workers of its cluster. What becomes of its report it does not hear of here, so that is told as unknown;
 * whether it counted is seen in the end.
 */
export function operationsOf({ node, journal }) {
  const agent = `${node}-worker`;
  async function work(payload, { jobId, jobEpoch, signal }) {
    const task = { kind: "task", agent, job: jobId, attempt: jobEpoch, replay: false };
    const from = now();
    journal.tell({ ...task, what: "leased", from, to: from, outcome: "done" });
    await pause(payload?.ms ?? 0, undefined, { signal });
    signal.throwIfAborted();
    const result = { agent, job_epoch: jobEpoch };
    const to = now();
    const report = { what: "reported", from: to, to, outcome: "unknown", result: JSON.stringify(result) };
    if (payload?.fails === true && jobEpoch === 1) {
      journal.tell({ ...task, ...report, result: "failed" });
      throw new Error("it fails the first time");
    }
    journal.tell({ ...task, ...report });
    return result;
  }
  return { work, tick: work };
}
