import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { type JobPayload, JobsApi } from "../jobs/jobs-api.js";
import { bodyOf } from "../queue/queue-load.js";
import { msBetween } from "../statistics.js";
import { takeOrders, tell } from "./parent.js";

const namespace = "default";
/** What `holdfast agent` asks for, with its defaults. */
const wish = { namespace, max_tasks: 4, timeout_ms: 25_000 };
/** The agents are at rest again before the next job comes, and it comes at no particular time. */
const leastPauseMs = 30;
const mostPauseMs = 60;

/** Agents that have nothing to do, each with a connection of its own; and whoever submits a job now and then. */
export function run(url: string): void {
  const crowd = new WaitingAgents(new JobsApi(url));
  takeOrders(async (order) => {
    if (order.kind === "wait") {
      await crowd.begin(order.agents, order.withinMs);
      tell({ kind: "waiting" });
    } else if (order.kind === "beat") {
      await crowd.beat(order.everyMs);
      tell({ kind: "running" });
    } else if (order.kind === "pickUp") {
      tell({ kind: "pickedUp", times: await crowd.pickUp(order.jobs) });
    }
  });
}

class WaitingAgents {
  private readonly api: JobsApi;
  private readonly names: string[] = [];
  private readonly arrivals = new Map<string, (at: bigint) => void>();

  constructor(api: JobsApi) {
    this.api = api;
  }

  async begin(agents: number, withinMs: number): Promise<void> {
    const first = this.names.length;
    for (let agent = first; agent < first + agents; agent++) {
      this.names.push(`agent-${agent}`);
      forever(() => this.pollOnce(`agent-${agent}`));
      await pause(withinMs / agents);
    }
  }

  async beat(everyMs: number): Promise<void> {
    for (const name of this.names) {
      forever(async () => {
        await this.api.beat(name, namespace);
        await pause(everyMs * (0.8 + 0.4 * Math.random()));
      });
      await pause(everyMs / this.names.length);
    }
  }

  /** One job after another, each when all agents wait. */
  async pickUp(jobs: number): Promise<readonly number[]> {
    const times: number[] = [];
    for (let number = 0; number < jobs; number++) {
      await pause(leastPauseMs + Math.random() * (mostPauseMs - leastPauseMs));
      const jobId = randomUUID();
      const arrived = new Promise<bigint>((resolve) => this.arrivals.set(jobId, resolve));
      const payload: JobPayload = { number, body: bodyOf(number) };
      const from = process.hrtime.bigint();
      const submitted = this.api.submit([{ job_id: jobId, payload }], namespace);
      times.push(msBetween(from, await arrived));
      await submitted;
    }
    return times;
  }

  private async pollOnce(agent: string): Promise<void> {
    const lease = await this.api.lease({ agent, ...wish });
    if (lease === null) return;
    const at = process.hrtime.bigint();
    for (const { job_id: jobId } of lease.tasks) {
      this.arrivals.get(jobId)?.(at);
      this.arrivals.delete(jobId);
    }
    await this.api.succeed(agent, lease);
  }
}

function forever(act: () => Promise<void>): void {
  const repeat = async (): Promise<never> => {
    for (;;) await act();
  };
  repeat().catch((error: unknown) => tell({ kind: "failed", reason: String(error) }));
}
