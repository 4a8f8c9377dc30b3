import { type BenchOptions, roundsOf } from "../bench.js";
import { Cluster } from "../cluster.js";
import { judged, type Result, reported } from "../result.js";
import type { BenchServer } from "../server.js";
import { median } from "../statistics.js";

const usualRounds = 10;
const patienceMs = 600_000;

/** From `elected` to the first delivery, when the last leader was killed with all of its lanes in flight. */
export async function benchRecovery(
  server: BenchServer,
  messages: number,
  options: BenchOptions,
): Promise<readonly Result[]> {
  const rounds = roundsOf(options, usualRounds);
  const sizes = { long: messages * 5, short: 1_000 };
  const clusters = {
    long: new Cluster(server, { schema: "long_backlog", standbys: 1, queue: true }),
    short: new Cluster(server, { schema: "short_backlog", standbys: 1, queue: true }),
  };
  const names = ["long", "short"] as const;
  for (const name of names) {
    await clusters[name].fill();
    await clusters[name].enqueue({ messages: sizes[name], lanes: 100, stages: 1 }, patienceMs);
    options.progress(`a backlog of ${sizes[name]} is there`);
  }
  const recoveries = { long: [] as number[], short: [] as number[] };
  const outages = { long: [] as number[], short: [] as number[] };
  await server.session.query("checkpoint");
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const cluster = clusters[name];
      await cluster.fill();
      await cluster.settled();
      await cluster.pauseAnywhere();
      const { ms, deliveredAfterMs } = await cluster.crashOfQueue();
      recoveries[name].push(deliveredAfterMs);
      outages[name].push(ms + deliveredAfterMs);
    }
  }
  for (const name of names) await clusters[name].close();
  const [long, short] = [median(recoveries.long), median(recoveries.short)];
  const words = `a backlog of ${sizes.short}: ${short.toFixed(1)} ms`;
  options.progress(`recovery with a backlog of ${sizes.long}: ${long.toFixed(1)} ms (${words})`);
  // Half as much again, or 20 ms more where that is nothing.
  const limit = Math.max(short * 1.5, short + 20).toFixed(1);
  return [
    judged("queue_recovery_with_a_million", long, "ms", `<= ${limit}`, words),
    reported("queue_recovery_with_a_thousand", short, "ms"),
    reported("queue_crash_to_first_delivery_with_a_million", median(outages.long), "ms"),
    reported("queue_crash_to_first_delivery_with_a_thousand", median(outages.short), "ms"),
  ];
}
