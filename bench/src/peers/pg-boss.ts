import { PgBoss } from "pg-boss";
import { batchSize, bodyOf, type QueueUnderTest } from "../queue/queue-load.js";
import { takeQueueOrders } from "../queue/queue-orders.js";
import { workerSettings } from "./worker-settings.js";

const queueName = "bench";
/** On two processors two are faster than one, and than four. */
const workerCount = 2;

interface Payload {
  readonly number: number;
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
  // Neither watches over the other or runs crons meanwhile.
  const quiet = { connectionString: url, supervise: false, schedule: false };
  const intake = new PgBoss({ ...quiet, max: 10 });
  const workers = new PgBoss({ ...quiet, max: 10, options: workerSettings });
  for (const boss of [intake, workers])
    boss.on("error", (error) => process.stderr.write(`pg-boss: ${error.message}\n`));
  await intake.start();
  await intake.createQueue(queueName);
  await workers.start();
  return {
    ordersCalls: false,
    enqueue: (numbers) =>
      intake.insert(
        queueName,
        numbers.map((number) => ({ data: { number, body: bodyOf(number) } satisfies Payload })),
      ),
    process: async (_load, handled) => {
      // While batches are full it fetches the next at once, and does not wait for its interval.
      const options = {
        batchSize,
        burstWhenBatchFull: true,
        localConcurrency: workerCount,
        pollingIntervalSeconds: 0.5,
      };
      await workers.work<Payload>(queueName, options, async (jobs) => {
        for (const { data } of jobs) handled(null, data.number);
      });
      return () => workers.offWork(queueName, { wait: true });
    },
    unfinished: async () => {
      const stats = await intake.getQueueStats(queueName, { force: true });
      return stats.reduce((sum, { queuedCount, activeCount }) => sum + queuedCount + activeCount, 0);
    },
  };
}
