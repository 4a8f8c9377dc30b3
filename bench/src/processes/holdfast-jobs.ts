import { setMaxListeners } from "node:events";
import pg from "pg";
import { JobsApi, mostTasks } from "../jobs/jobs-api.js";
import { bodyOf, type Handled, type QueueLoad, type QueueUnderTest } from "../queue/queue-load.js";
import { takeQueueOrders } from "../queue/queue-orders.js";

/** So many lease, work and report at the same time. */
const agentCount = 16;
const pollMs = 25_000;

/** Whoever submits jobs, and the agents that work on them: a process that has nothing of a node but its address. */
export function run(url: string): void {
  takeQueueOrders(url, async (name, _load, address) => {
    const session = new pg.Client({ connectionString: url });
    await session.connect();
    return new MeasuredJobs(name, new JobsApi(address), session);
  });
}

/** Each queue is a namespace. */
class MeasuredJobs implements QueueUnderTest {
  readonly ordersCalls = false;
  private readonly namespace: string;
  private readonly api: JobsApi;
  private readonly session: pg.Client;

  constructor(namespace: string, api: JobsApi, session: pg.Client) {
    this.namespace = namespace;
    this.api = api;
    this.session = session;
  }

  async enqueue(numbers: readonly number[]): Promise<void> {
    const jobs = numbers.map((number) => ({ payload: { number, body: bodyOf(number) } }));
    await this.api.submit(jobs, this.namespace);
  }

  async process({ messages }: QueueLoad, handled: Handled): Promise<() => Promise<void>> {
    const done = new AbortController();
    setMaxListeners(0, done.signal);
    let left = messages;
    const handle: Handled = (lane, number) => {
      left -= 1;
      handled(lane, number);
      if (left === 0) done.abort();
    };
    const agents = Array.from({ length: agentCount }, (_, agent) => this.work(`agent-${agent}`, handle, done.signal));
    // Nobody waits for them until all is handled: an agent that fails before that ends this process, and with it the run.
    const working = Promise.all(agents);
    return async () => {
      await working;
    };
  }

  async unfinished(): Promise<number> {
    const { rows } = await this.session.query<{ left: number }>(
      "select count(*)::integer as left from holdfast.jobs where namespace = $1 and state <> 'succeeded'",
      [this.namespace],
    );
    return rows[0]?.left ?? 0;
  }

  /** It leases the next tasks while what came of the last is on its way. */
  private async work(agent: string, handled: Handled, done: AbortSignal): Promise<void> {
    let reported: Promise<void> = Promise.resolve();
    while (!done.aborted) {
      const lease = await this.lease(agent, done);
      await reported;
      if (lease === null) continue;
      for (const { payload } of lease.tasks) handled(null, payload.number);
      reported = this.api.succeed(agent, lease);
    }
    await reported;
  }

  private async lease(agent: string, done: AbortSignal) {
    const wish = { agent, namespace: this.namespace, max_tasks: mostTasks, timeout_ms: pollMs };
    try {
      return await this.api.lease(wish, done);
    } catch (error) {
      if (done.aborted) return null;
      throw error;
    }
  }
}
