import { HoldfastError } from "../../errors.js";
import type { JobSettings } from "../job-settings.js";
import type { Jobs } from "../jobs.js";
import type { OrderAnswers, WorkerAnswer, WorkerOrder } from "./worker-order.js";

/** What carries out what workers ask: the jobs of a node that leads. */
export interface OrderTaker extends Pick<Jobs, "heartbeat" | "lease" | "renew" | "report" | "giveBack" | "forsake"> {
  readonly settings: Pick<JobSettings, "leaseTtlMs">;
}

export interface CarryingOptions {
  /** A lease has it, too. */
  readonly id: string;
  /** Nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  readonly isLastResort: boolean;
}

/** What is refused is an answer; what is a defect of ours is thrown. */
export async function carryOut(jobs: OrderTaker, order: WorkerOrder, options: CarryingOptions): Promise<WorkerAnswer> {
  try {
    return { kind: "done", ttlMs: jobs.settings.leaseTtlMs, answer: await answerTo(jobs, order, options) };
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    return { kind: "refused", code: error.code, message: error.message };
  }
}

async function answerTo(
  jobs: OrderTaker,
  order: WorkerOrder,
  { id, signal, isLastResort }: CarryingOptions,
): Promise<OrderAnswers[WorkerOrder["kind"]]> {
  switch (order.kind) {
    case "heartbeat":
      return await jobs.heartbeat(order);
    case "lease": {
      const { agent, namespace, capabilities, maxTasks, waitMs, running, places } = order;
      const load = { running, places, isLastResort };
      return await jobs.lease({ agent, namespace, capabilities, maxTasks, leaseId: id, load }, waitMs, signal);
    }
    case "renew":
      return await jobs.renew(order.agent, order.leaseId, order.progress);
    case "report":
      return await jobs.report(order.results);
    case "give_back":
      return await jobs.giveBack(order.agent, order.leaseId, null);
  }
}
