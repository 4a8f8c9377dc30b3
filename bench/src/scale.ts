import { setTimeout as pause } from "node:timers/promises";
import { type BenchOptions, roundsOf } from "./bench.js";
import { BenchProcess } from "./bench-process.js";
import { Cluster } from "./cluster.js";
import { benchCluster } from "./cluster-cost.js";
import { judged, type Result, reported } from "./result.js";
import { type BenchServer, startServer } from "./server.js";
import { median, percentile } from "./statistics.js";

const manyStandbys = 200;
const hosts = 4;
const fewStandbys = 2;
const crashRounds = 20;
const countedBeats = 15;
/** The default. */
const heartbeatMs = 1_000;

/** What a crowd of standbys costs the database, and whether a failover notices it. */
export async function benchScale(options: BenchOptions): Promise<readonly Result[]> {
  const server = await startServer({
    max_connections: "900",
    shared_preload_libraries: "pg_stat_statements",
    "pg_stat_statements.track": "top",
  });
  await server.session.query("create extension pg_stat_statements");
  // First, while the server has nothing behind it that it would tidy up meanwhile.
  const cost = await benchCluster(server, options);
  const rounds = roundsOf(options, crashRounds);
  // Half of the small cluster's rounds before, half after the crowd: a crowd that beats beside it would slow it, too.
  const before = await crashesOfFew(server, Math.ceil(rounds / 2), options);
  const crowd = await benchCrowd(server, rounds, options);
  const after = await crashesOfFew(server, Math.floor(rounds / 2), options);
  const few = [...before, ...after];
  const peer = "the same with 2 standbys";
  return [
    ...cost,
    judged("statements_per_standby_beat", crowd.statements, "statements", "<= 1.1"),
    judged("scale_failover_ratio", median(crowd.times) / median(few), "x", "<= 2", peer),
    reported("scale_crash_failover_p50_200_standbys", median(crowd.times), "ms"),
    reported("scale_crash_failover_p95_200_standbys", percentile(crowd.times, 0.95), "ms"),
    reported("scale_crash_failover_p50_2_standbys", median(few), "ms", peer),
  ];
}

async function crashesOfFew(server: BenchServer, rounds: number, options: BenchOptions): Promise<readonly number[]> {
  if (rounds === 0) return [];
  const cluster = new Cluster(server, { schema: "few", standbys: fewStandbys });
  const times: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    await cluster.fill();
    await cluster.settled();
    await cluster.pauseAnywhere();
    times.push((await cluster.crash()).ms);
  }
  options.progress(`${rounds} crashes with ${fewStandbys} standbys: p50 ${median(times).toFixed(1)} ms`);
  await cluster.close();
  return times;
}

/**
 * 200 nodes in four processes, each with sessions of its own and fit to lead. One of them takes over at each crash, and
 * hands the role to a node in a process of its own, which is the next to be killed.
 */
async function benchCrowd(
  server: BenchServer,
  rounds: number,
  options: BenchOptions,
): Promise<{ readonly statements: number; readonly times: readonly number[] }> {
  const cluster = new Cluster(server, { schema: "many", standbys: 0 });
  await cluster.fill();
  const crowd = Array.from({ length: hosts }, () => new BenchProcess("nodes", server.url));
  await Promise.all(
    crowd.map(async (host, index) => {
      const nodeIds = Array.from({ length: manyStandbys / hosts }, (_, node) => `standby-${index}-${node}`);
      await cluster.joinIn(await host.loaded(), nodeIds);
    }),
  );
  await cluster.settled();
  options.progress(`${manyStandbys} standbys have joined; counting statements`);
  const statements = await countStatements(server);
  options.progress(`${statements.toFixed(3)} statements a standby a beat`);
  const times: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    await cluster.settled();
    await cluster.pauseAnywhere();
    times.push((await cluster.crash()).ms);
    if (round < rounds) await cluster.stepDown(await cluster.join());
    if (round % 10 === 0) options.progress(`crash ${round} of ${rounds}: p50 ${median(times).toFixed(1)} ms`);
  }
  await cluster.close();
  return { statements, times };
}

/** As the server counts them, over some beats at rest: all that any node sent, the leader's and the heir's too. */
async function countStatements(server: BenchServer): Promise<number> {
  // The pools that the nodes joined with close their idle connections meanwhile.
  const { session } = server;
  await session.query("select pg_stat_statements_reset()");
  const from = performance.now();
  await pause(countedBeats * heartbeatMs);
  const { rows } = await session.query<{ calls: number }>(
    "select sum(calls)::float8 as calls from pg_stat_statements where query not like '%pg_stat_statements%'",
  );
  const beats = (performance.now() - from) / heartbeatMs;
  return (rows[0]?.calls ?? 0) / beats / manyStandbys;
}
