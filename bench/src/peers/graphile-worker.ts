import { Logger, makeWorkerUtils, run as runWorker } from "graphile-worker";
import pg from "pg";
import { batchSize, bodyOf, type Handled, laneOf, type QueueUnderTest } from "../queue/queue-load.js";
import { takeQueueOrders } from "../queue/queue-orders.js";
import { workerSettings } from "./worker-settings.js";

/** With what its own page on performance recommends: 24 jobs at a time, a local queue of 500, completions in batches. */
const concurrentJobs = 24;
const taskName = "take";
const logger = new Logger(() => () => undefined);

interface Payload {
  readonly number: number;
  readonly lane: string | null;
  readonly body: string;
}

export function run(url: string): void {
  let opened: Promise<QueueUnderTest> | null = null;
  takeQueueOrders(url, () => {
    opened ??= open(url);
    return opened;
  });
}

async function open(url: string): Promise<QueueUnderTest> {
  const intake = new pg.Pool({ connectionString: url, max: 10 });
  const workers = new pg.Pool({ connectionString: url, max: concurrentJobs + 1, options: workerSettings });
  for (const pool of [intake, workers]) {
    for (const event of ["error", "connect"] as const) pool.on(event, () => undefined);
  }
  const utils = await makeWorkerUtils({ pgPool: intake, preset: { worker: { logger } } });
  await utils.migrate();
  return {
    ordersCalls: false,
    enqueue: (numbers, { lanes }) =>
      utils.addJobs(
        numbers.map((number) => {
          const lane = lanes === null ? null : laneOf(number, lanes);
          const payload: Payload = { number, lane, body: bodyOf(number) };
          return { identifier: taskName, payload, ...(lane === null ? {} : { queueName: lane }) };
        }),
      ),
    process: async ({ lanes }, handled) => await work(workers, lanes !== null, handled),
    unfinished: async () => {
      const { rows } = await intake.query<{ jobs: number }>(
        "select count(*)::integer as jobs from graphile_worker.jobs",
      );
      return rows[0]?.jobs ?? 0;
    },
  };
}

async function work(pool: pg.Pool, inOrder: boolean, handled: Handled): Promise<() => Promise<void>> {
  // A local queue takes many jobs of one named queue at once and runs them side by side: out of order, and at 60 jobs/s.
  const localQueue = inOrder ? {} : { localQueue: { size: batchSize } };
  const runner = await runWorker({
    pgPool: pool,
    noHandleSignals: true,
    preset: { worker: { logger, concurrentJobs, ...localQueue, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
    taskList: {
      [taskName]: async (payload) => {
        const { lane, number } = payload as Payload;
        handled(lane, number);
      },
    },
  });
  return () => runner.stop();
}
