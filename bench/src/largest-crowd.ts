import { availableParallelism } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { type BenchOptions, roundsOf } from "./bench.js";
import { cpuSecondsOf, ownCpuSecondsOf } from "./cpu-time.js";
import { Crowd, crashesOfFew, heartbeatMs } from "./crowd.js";
import { type Result, reported } from "./result.js";
import { type BenchServer, startServer } from "./server.js";
import { median } from "./statistics.js";

const wantedStandbys = 1_000;
/** They come in steps, each in one process. */
const step = 100;
const crashRounds = 10;
/** After a step, until the connections that only joining took are closed; and how long the crowd is looked at then. */
const settlingMs = 5_000;
const lookMs = 5_000;
/**
 * Nodes and server may take so much of all processors. The rest is for what each round does besides, such as the start of a
 * process: without it the crowd's beats come late, its sessions are given up, and what is measured is an overload.
 */
const mostBusyPercent = 40;
/** What a step leaves behind may take a while: only a crowd that is too busy each time is too large. */
const looks = 3;
/** Who has not been heard of for so long has missed a beat at least. */
const lateMs = 2.5 * heartbeatMs;

/**
 * As many standbys as the machine carries with default settings, up to a thousand: whether every node keeps its pace and the
 * processors have something left is looked at after each step. What a crash then costs, beside one with two standbys.
 */
export async function benchLargestCrowd(options: BenchOptions): Promise<readonly Result[]> {
  // Two sessions a node, those of the pools that they join with, and ours.
  const server = await startServer({
    max_connections: String(wantedStandbys * 3),
    shared_preload_libraries: "pg_stat_statements",
    "pg_stat_statements.track": "top",
  });
  await server.session.query("create extension pg_stat_statements");
  const rounds = roundsOf(options, crashRounds);
  const before = await crashesOfFew(server, Math.ceil(rounds / 2));
  const crowd = new Crowd(server, "largest");
  const limit = await grow(server, crowd, options);
  const [statements, sessions] = [await crowd.statementsPerBeat(), await sessionsOf(server)];
  options.progress(`${crowd.size} standbys (${limit}): ${statements.toFixed(3)} statements a standby a beat`);
  const { size } = crowd;
  const many = await crowd.crashes(rounds, (round, times) => {
    options.progress(`crash ${round} of ${rounds} with ${size} standbys: p50 ${median(times).toFixed(1)} ms`);
  });
  const soonAgain = await crowd.crashes(
    Math.ceil(rounds / 2),
    (round, times) => options.progress(`crash ${round} right after an election: p50 ${median(times).toFixed(1)} ms`),
    { atRest: false },
  );
  await crowd.close();
  const few = [...before, ...(await crashesOfFew(server, Math.floor(rounds / 2)))];
  const peer = `2 standbys: ${median(few).toFixed(1)} ms`;
  options.progress(`crash with ${size} standbys: p50 ${median(many).toFixed(1)} ms (${peer})`);
  const words = `with ${size} standbys`;
  return [
    reported("scale_standbys", size, "standbys", limit),
    reported("scale_standbys_statements_per_beat", statements, "statements", words),
    reported("scale_standbys_failover_ratio", median(many) / median(few), "x", peer),
    reported("scale_standbys_crash_failover_p50", median(many), "ms", words),
    reported("scale_standbys_crash_failover_max", Math.max(...many), "ms", words),
    reported("scale_standbys_second_crash_p50", median(soonAgain), "ms", `${words}, a second after another change`),
    reported("scale_standbys_sessions", sessions, "sessions", words),
  ];
}

/** Answers with what kept more from joining. */
async function grow(server: BenchServer, crowd: Crowd, options: BenchOptions): Promise<string> {
  await crowd.open();
  while (crowd.size < wantedStandbys) {
    const { busy, trouble } = await oneStepMore(server, crowd);
    if (trouble !== null) {
      const tried = crowd.size;
      options.progress(`${tried} standbys are too many: ${trouble}`);
      await crowd.dropLast(step);
      if (crowd.size === 0) throw new Error(`not even ${tried} standbys fit: ${trouble}`);
      return `${tried} did not fit: ${trouble}`;
    }
    options.progress(`${crowd.size} standbys have joined, and take ${busy} of all processors`);
  }
  return "all that were asked for";
}

async function oneStepMore(server: BenchServer, crowd: Crowd): Promise<{ busy: string; trouble: string | null }> {
  try {
    await crowd.join(step);
    await crowd.settled();
  } catch (error) {
    return { busy: "", trouble: (error as Error).message.split("\n")[0] ?? "a node could not join" };
  }
  for (let look = 1; ; look++) {
    await pause(settlingMs);
    const percent = await busyPercent(server, crowd);
    const late = await lateNodes(server, crowd);
    const busy = percent === null ? "an unknown part" : `${percent.toFixed(0)} %`;
    const tooBusy = percent !== null && percent > mostBusyPercent;
    if (late === 0 && !tooBusy) return { busy, trouble: null };
    if (look < looks) continue;
    const trouble = tooBusy
      ? `nodes and server took ${busy} of all processors`
      : `${late} nodes did not keep their pace`;
    return { busy, trouble };
  }
}

/** Of all processors, by nodes and server. Null where the system does not tell. */
async function busyPercent(server: BenchServer, crowd: Crowd): Promise<number | null> {
  const before = await cpuSeconds(server, crowd);
  // Among so many processes a look takes its time, too: from the end of one to the end of the other.
  const from = performance.now();
  await pause(lookMs);
  const after = await cpuSeconds(server, crowd);
  if (before === null || after === null) return null;
  return ((after - before) * 100_000) / (performance.now() - from) / availableParallelism();
}

async function cpuSeconds(server: BenchServer, crowd: Crowd): Promise<number | null> {
  const spent = await Promise.all([
    cpuSecondsOf(server.pid),
    ...crowd.processes.map(({ pid }) => ownCpuSecondsOf(pid)),
  ]);
  return spent.reduce((sum, seconds) => (sum === null || seconds === null ? null : sum + seconds), 0);
}

async function lateNodes({ session }: BenchServer, { schema, size }: Crowd): Promise<number> {
  const { rows } = await session.query<{ here: number }>(
    `select count(*)::integer as here from ${schema}.nodes
     where status = 'active' and last_heartbeat > clock_timestamp() - $1 * interval '1 millisecond'`,
    [lateMs],
  );
  // The leader is here, too.
  return size + 1 - (rows[0]?.here ?? 0);
}

async function sessionsOf({ session }: BenchServer): Promise<number> {
  const { rows } = await session.query<{ sessions: number }>(
    "select count(*)::integer as sessions from pg_stat_activity where backend_type = 'client backend'",
  );
  return rows[0]?.sessions ?? 0;
}
