import { type BenchOptions, roundsOf } from "../bench.js";
import { BenchProcess } from "../bench-process.js";
import { newerNode } from "../newer-node.js";
import { type Rates, runOnce, type Subject } from "../queue/queue-runs.js";
import { judged, type Result, reported } from "../result.js";
import { type BenchServer, startServer } from "../server.js";
import { median } from "../statistics.js";
import { benchIdleAgents } from "./idle-agents.js";
import { benchPickUp } from "./job-pick-up.js";

const usualJobs = 100_000;
const usualRounds = 3;
/** So much of a load goes through first, unmeasured. */
const warmUpShare = 0.05;
/** 1,000 agents that wait have the connections that a server takes by default; their heartbeats come beside them. */
const maxConnections = 3_000;

/** Jobs through HTTP next to a queue that its workers reach directly; how soon a job is picked up; what idle agents cost. */
export async function benchJobs(options: BenchOptions): Promise<readonly Result[]> {
  const execPath = await newerNode();
  const plain = await startServer();
  const rates = await compare(plain, subjectsOf(options.messages ?? usualJobs, execPath), options);
  // Another server, since to be counted would cost statements as long as those of the rates more than it costs their peer's.
  const counting = await startServer({
    shared_preload_libraries: "pg_stat_statements",
    "pg_stat_statements.track": "top",
  });
  await counting.session.query("create extension pg_stat_statements");
  const node = await new BenchProcess("servingNode", counting.url).loaded();
  const { url } = await node.ask({ kind: "serve", maxConnections }, "serving");
  const agents = await new BenchProcess("waitingAgents", url).loaded();
  const pickUp = await benchPickUp(counting, agents, options);
  const idle = await benchIdleAgents(counting, agents, options);
  return [...resultsOf(rates), ...pickUp, ...idle];
}

type Name = keyof ReturnType<typeof subjectsOf>;

function subjectsOf(messages: number, execPath: string) {
  const load = { messages, lanes: null, stages: 1 };
  const warmUp = Math.ceil(messages * warmUpShare);
  return {
    jobs: { program: "holdfastJobs", load, warmUp, served: true },
    pgBoss: { program: "pgBoss", load, warmUp, execPath },
  } as const satisfies Record<string, Subject>;
}

/** One after the other, and the other way round in the next round. */
async function compare(
  server: BenchServer,
  subjects: Readonly<Record<Name, Subject>>,
  options: BenchOptions,
): Promise<Readonly<Record<Name, readonly Rates[]>>> {
  const rates: Record<Name, Rates[]> = { jobs: [], pgBoss: [] };
  const names = Object.keys(rates) as Name[];
  const rounds = roundsOf(options, usualRounds);
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const run = await runOnce(server, subjects[name]);
      rates[name].push(run);
      const parts = `${run.enqueue.toFixed(0)} in, ${run.process.toFixed(0)} out`;
      options.progress(`round ${round + 1} of ${rounds}: ${name}: ${run.endToEnd.toFixed(0)} jobs/s (${parts})`);
    }
  }
  return rates;
}

function resultsOf(rates: Readonly<Record<Name, readonly Rates[]>>): readonly Result[] {
  const rate = (name: Name, part: Exclude<keyof Rates, "inversions"> = "endToEnd"): number =>
    median(rates[name].map((run) => run[part]));
  const ratio = (part: Exclude<keyof Rates, "inversions">): number =>
    median(rates.jobs.map((run, round) => run[part] / (rates.pgBoss[round]?.[part] ?? Number.NaN)));
  const unit = "jobs/s";
  const boss = "pg-boss, straight to the database in batches of 500";
  return [
    judged("jobs_ratio_to_pg_boss", ratio("endToEnd"), "x", ">= 0.8", `${boss}: ${rate("pgBoss").toFixed(0)} jobs/s`),
    reported("jobs_submit_ratio_to_pg_boss", ratio("enqueue"), "x"),
    reported("jobs_work_ratio_to_pg_boss", ratio("process"), "x"),
    reported("jobs_rate", rate("jobs"), unit),
    reported("jobs_submit_rate", rate("jobs", "enqueue"), unit),
    reported("jobs_work_rate", rate("jobs", "process"), unit),
    reported("pg_boss_rate", rate("pgBoss"), unit, boss),
    reported("pg_boss_enqueue_rate", rate("pgBoss", "enqueue"), unit, boss),
    reported("pg_boss_process_rate", rate("pgBoss", "process"), unit, boss),
  ];
}
