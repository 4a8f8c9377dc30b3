import { setTimeout as pause } from "node:timers/promises";
import type { BenchOptions } from "../bench.js";
import type { BenchProcess } from "../bench-process.js";
import { judged, type Result, reported } from "../result.js";
import type { BenchServer } from "../server.js";
import { median } from "../statistics.js";
import { pickUps } from "./job-pick-up.js";

const size = 1_000;
/** The defaults of `holdfast agent`. */
const pollMs = 25_000;
const heartbeatMs = 15_000;
const windowMs = 60_000;
const trialWindowMs = 5_000;
const pickedUpAmongMany = 50;

/** What a crowd of agents without work costs the database, above what the node costs it without them. */
export async function benchIdleAgents(
  server: BenchServer,
  agents: BenchProcess,
  options: BenchOptions,
): Promise<readonly Result[]> {
  const isTrial = options.rounds !== null;
  const lengthMs = isTrial ? trialWindowMs : windowMs;
  const watch = async (what: string): Promise<number> => {
    const rate = await statementsPerSecond(server, lengthMs);
    options.progress(`${what}: ${rate.toFixed(1)} statements/s`);
    return rate;
  };
  const alone = await watch("a node with one agent");
  // They come at different times, as agents do: those that all ask at once are answered at once, by one transaction.
  await agents.ask({ kind: "wait", agents: size - 1, withinMs: pollMs }, "waiting", 2 * pollMs);
  const polling = await watch(`${size} agents that wait`);
  await agents.ask({ kind: "beat", everyMs: heartbeatMs }, "running", 2 * heartbeatMs + pollMs);
  const beating = await watch(`${size} agents that wait and tell that they are there`);
  const times = await pickUps(agents, pickedUpAmongMany);
  const peer = `the node with one agent: ${alone.toFixed(1)} statements/s`;
  const unit = "statements/s";
  return [
    judged("jobs_1000_idle_agents_statements", beating, unit, "<= 20", peer),
    reported("jobs_1000_idle_agents_statements_above_node", beating - alone, unit),
    reported("jobs_1000_idle_polls_statements", polling, unit, peer),
    reported("jobs_1000_idle_polls_statements_above_node", polling - alone, unit),
    reported("jobs_idle_node_statements", alone, unit),
    reported("jobs_pick_up_p50_1000_agents", median(times), "ms"),
  ];
}

/** As the server counts them: those that were sent, BEGIN and COMMIT too. */
async function statementsPerSecond({ session }: BenchServer, lengthMs: number): Promise<number> {
  await session.query("select pg_stat_statements_reset()");
  const from = performance.now();
  await pause(lengthMs);
  const { rows } = await session.query<{ calls: number }>(
    "select coalesce(sum(calls), 0)::float8 as calls from pg_stat_statements where query not like '%pg_stat_statements%'",
  );
  return ((rows[0]?.calls ?? 0) / (performance.now() - from)) * 1_000;
}
