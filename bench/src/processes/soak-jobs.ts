import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { type JobPayload, JobsApi, JobsRefusal, mostTasks } from "../jobs/jobs-api.js";
import { bodyOf } from "../queue/queue-load.js";
import { PacedLoad } from "../soak/paced-load.js";
import { takeSoakOrders } from "../soak/soak-orders.js";
import { tell } from "./parent.js";

const agents = 8;
const namespace = "default";
const pollMs = 25_000;
const unavailable = 503;
const attempts = 10;
const retryMs = 200;

/** Whoever submits jobs to the leader, and the agents that work on them, over HTTP. */
export function run(url: string): void {
  const api = new JobsApi(url);
  const load = new PacedLoad(
    async (count, dueAt) => {
      const jobs = Array.from({ length: count }, (_, place) => ({
        job_id: randomUUID(),
        payload: { number: dueAt, body: bodyOf(place) } satisfies JobPayload,
      }));
      await patiently(() => api.submit(jobs, namespace));
    },
    { callers: 2, batch: 50, mostUnderWay: 1_000 },
  );
  const open = async (): Promise<string> => {
    for (let agent = 0; agent < agents; agent++) {
      work(api, `agent-${agent}`, load).catch((error: unknown) => tell({ kind: "failed", reason: String(error) }));
    }
    return url;
  };
  takeSoakOrders({ load, open });
}

async function work(api: JobsApi, agent: string, load: PacedLoad): Promise<never> {
  for (;;) {
    const lease = await patiently(() => api.lease({ agent, namespace, max_tasks: mostTasks, timeout_ms: pollMs }));
    if (lease === null) continue;
    for (const { payload } of lease.tasks) load.arrive(payload.number);
    await patiently(() => api.succeed(agent, lease));
  }
}

/** Asks again where the node cannot say what became of it, as any client has to. Jobs have ids, so nothing is done twice by that. */
async function patiently<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof JobsRefusal) || error.status !== unavailable || attempt === attempts) throw error;
      await pause(retryMs);
    }
  }
}
