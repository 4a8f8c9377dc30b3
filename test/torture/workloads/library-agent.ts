import { setTimeout as pause } from "node:timers/promises";
import { Agent, type OperationContext } from "../../../src/jobs.js";
import { monotonicMs } from "../clock.js";
import type { TaskEvent } from "../history.js";
import type { Scene } from "../workload.js";
import { untilAborted } from "./pace.js";

interface Payload {
  readonly ms?: number;
  readonly fails?: boolean;
}

/**
 * The agent that ships, at work until the signal ends. It asks again by itself, so what became of a report is not heard here: that is told
 * as unknown, and whether it counted is seen in the end.
 */
export async function runLibraryAgent(name: string, { places, token, log }: Scene, signal: AbortSignal): Promise<void> {
  const work = async (payload: unknown, context: OperationContext): Promise<{ agent: string; job_epoch: number }> => {
    const { jobId, jobEpoch } = context;
    const tell = (more: Pick<TaskEvent, "what" | "outcome"> & { readonly result?: string }): void => {
      const at = monotonicMs();
      const task = { agent: name, job: jobId, attempt: jobEpoch, replay: false };
      log({ by: name, at, from: at, to: at, kind: "task", ...task, ...more });
    };
    tell({ what: "leased", outcome: "done" });
    const { ms = 0, fails = false } = (payload ?? {}) as Payload;
    await pause(ms, undefined, { signal: context.signal });
    const failed = fails && jobEpoch === 1;
    const result = { agent: name, job_epoch: jobEpoch };
    tell({ what: "reported", outcome: "unknown", result: failed ? "failed" : JSON.stringify(result) });
    if (failed) throw new Error("it fails the first time");
    return result;
  };
  const agent = new Agent({
    name,
    url: places.map(({ url }) => url),
    token,
    concurrency: 2,
    operations: { work, tick: work },
    heartbeatMs: 1_000,
    probeMs: 1_000,
    drainMs: 1_000,
  });
  const running = agent.run();
  await untilAborted(signal);
  await agent.stop();
  await running;
}
