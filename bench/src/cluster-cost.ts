import { setTimeout as pause } from "node:timers/promises";
import type { BenchOptions } from "./bench.js";
import { BenchProcess } from "./bench-process.js";
import { Cluster } from "./cluster.js";
import { cpuSecondsOf } from "./cpu-time.js";
import { judged, type Result, reported } from "./result.js";
import type { BenchServer } from "./server.js";

const schema = "fifty";
const size = 50;
const hosts = 5;
/** As long as the server lets pass between two looks at what is to be vacuumed, so that the cost of that is in it. */
const windowMs = 60_000;
const trialWindowMs = 5_000;
/** Until every session has planned its statements, and the connections that only joining took are closed. */
const settlingMs = 15_000;

/**
 * What 50 nodes cost the database while nothing happens: the statements that they send, and the processor time of the whole
 * server above what it takes without them. The nodes leave copies of their metrics, as those with an HTTP server do.
 */
export async function benchCluster(server: BenchServer, options: BenchOptions): Promise<readonly Result[]> {
  const lengthMs = options.rounds === null ? windowMs : trialWindowMs;
  // What the start left behind is written now, and not in the window.
  await server.session.query("checkpoint");
  options.progress(`the server alone for ${lengthMs / 1000} s`);
  const idle = await observe(server, lengthMs);

  const cluster = new Cluster(server, { schema, standbys: 0, serves: true });
  await Promise.all(
    Array.from({ length: hosts }, async (_, host) => {
      const nodes = await new BenchProcess("nodes", server.url).loaded();
      const nodeIds = Array.from({ length: size / hosts }, (_, node) => `node-${host}-${node}`);
      await cluster.joinIn(nodes, nodeIds);
    }),
  );
  await cluster.settled();
  options.progress(`${size} nodes have joined; watching them for ${lengthMs / 1000} s`);
  await pause(settlingMs);
  const busy = await observe(server, lengthMs);
  await everyoneIsHere(server);
  await cluster.close();

  const { beats } = busy;
  options.progress(`one beat takes ${beats.mean.toFixed(0)} us, ${beats.min.toFixed(0)} to ${beats.max.toFixed(0)}`);
  return [
    judged("cluster_50_statements_per_beat", busy.statements / beats.calls, "statements", "<= 1.3"),
    ...cpuResults(idle, busy),
    reported("cluster_50_beats_per_second", (beats.calls / busy.elapsedMs) * 1000, "beats/s"),
    reported("cluster_50_beat_mean", beats.mean, "us"),
  ];
}

/** Where processor time cannot be read there are none. */
function cpuResults(idle: Observation, busy: Observation): readonly Result[] {
  if (idle.cpuPercent === null || busy.cpuPercent === null) return [];
  return [
    judged("cluster_50_database_cpu", busy.cpuPercent - idle.cpuPercent, "% of a core", "<= 5"),
    reported("cluster_50_database_cpu_idle", idle.cpuPercent, "% of a core", "the same server without nodes"),
  ];
}

interface Observation {
  readonly elapsedMs: number;
  readonly cpuPercent: number | null;
  readonly statements: number;
  /** Times in microseconds, as the server measures them. */
  readonly beats: { readonly calls: number; readonly mean: number; readonly min: number; readonly max: number };
}

async function observe({ session, pid }: BenchServer, lengthMs: number): Promise<Observation> {
  await session.query("select pg_stat_statements_reset()");
  const from = performance.now();
  const cpuFrom = await cpuSecondsOf(pid);
  await pause(lengthMs);
  const cpuTo = await cpuSecondsOf(pid);
  const elapsedMs = performance.now() - from;
  const { rows } = await session.query<Observation["beats"] & { readonly statements: number }>(
    `select coalesce(sum(calls), 0)::float8 as statements, coalesce(sum(calls) filter (where beats), 0)::float8 as calls,
       coalesce(sum(total_exec_time) filter (where beats) / sum(calls) filter (where beats), 0) * 1000 as mean,
       coalesce(min(min_exec_time) filter (where beats), 0) * 1000 as min,
       coalesce(max(max_exec_time) filter (where beats), 0) * 1000 as max
     from (select *, query like '%.beat($1%' as beats from pg_stat_statements where query not like '%pg_stat_statements%') s`,
  );
  const { statements = 0, ...beats } = rows[0] ?? { calls: 0, mean: 0, min: 0, max: 0 };
  const cpuPercent = cpuFrom === null || cpuTo === null ? null : ((cpuTo - cpuFrom) / elapsedMs) * 100_000;
  return { elapsedMs, cpuPercent, statements, beats };
}

/** Nodes that died meanwhile cost nothing, and would make the figures better than they are. */
async function everyoneIsHere({ session }: BenchServer): Promise<void> {
  const { rows } = await session.query<{ here: number }>(
    `select count(*)::integer as here from ${schema}.nodes
     where status = 'active' and last_heartbeat > clock_timestamp() - interval '5 seconds'`,
  );
  const here = rows[0]?.here ?? 0;
  if (here !== size) throw new Error(`only ${here} of ${size} nodes still beat after they had been watched`);
}
