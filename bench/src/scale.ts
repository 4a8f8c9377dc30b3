import { type BenchOptions, roundsOf } from "./bench.js";
import { benchCluster } from "./cluster-cost.js";
import { Crowd, crashesOfFew } from "./crowd.js";
import { benchLargestCrowd } from "./largest-crowd.js";
import { judged, type Result, reported } from "./result.js";
import { type BenchServer, startServer } from "./server.js";
import { median, percentile } from "./statistics.js";

const manyStandbys = 200;
const hosts = 4;
const crashRounds = 20;

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
  const crowd = await benchCrowd(server, options);
  return [...cost, ...crowd, ...(await benchLargestCrowd(options))];
}

async function benchCrowd(server: BenchServer, options: BenchOptions): Promise<readonly Result[]> {
  const rounds = roundsOf(options, crashRounds);
  // Half of the small cluster's rounds before, half after the crowd: a crowd that beats beside it would slow it, too.
  const before = await crashesOfFew(server, Math.ceil(rounds / 2));
  const crowd = new Crowd(server, "many");
  await crowd.open();
  await Promise.all(Array.from({ length: hosts }, () => crowd.join(manyStandbys / hosts)));
  await crowd.settled();
  options.progress(`${crowd.size} standbys have joined; counting statements`);
  const statements = await crowd.statementsPerBeat();
  options.progress(`${statements.toFixed(3)} statements a standby a beat`);
  const many = await crowd.crashes(rounds, (round, times) => {
    if (round % 10 === 0) options.progress(`crash ${round} of ${rounds}: p50 ${median(times).toFixed(1)} ms`);
  });
  await crowd.close();
  const few = [...before, ...(await crashesOfFew(server, Math.floor(rounds / 2)))];
  options.progress(`${rounds} crashes with 2 standbys: p50 ${median(few).toFixed(1)} ms`);
  const peer = "the same with 2 standbys";
  return [
    judged("statements_per_standby_beat", statements, "statements", "<= 1.1"),
    judged("scale_failover_ratio", median(many) / median(few), "x", "<= 2", peer),
    reported("scale_crash_failover_p50_200_standbys", median(many), "ms"),
    reported("scale_crash_failover_p95_200_standbys", percentile(many, 0.95), "ms"),
    reported("scale_crash_failover_p50_2_standbys", median(few), "ms", peer),
  ];
}
