import { expect, test } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { JobsAgents } from "../support/jobs-agent.js";
import { JobsCluster } from "../support/jobs-cluster.js";
import { type JobRow, type JobsHistory, violationsOf } from "../support/jobs-history.js";
import { LateAgent } from "../support/jobs-late-agent.js";
import { JobsListener } from "../support/jobs-listener.js";
import { submitAll } from "../support/jobs-load.js";
import type { CronHistory } from "../support/jobs-ticks.js";
import { createTestDatabase, withClient } from "../support/postgres.js";

const isLong = process.env.HOLDFAST_LONG === "1";
/** Issue 5: a kill every 2 s for a minute while 20 agents work through 20,000 jobs. */
const shape = isLong
  ? { agents: 20, jobs: 20_000, kills: 30, backlog: 2_000, taskMs: 200 }
  : { agents: 4, jobs: 1_000, kills: 3, backlog: 300, taskMs: 120 };
const killEveryMs = 2_000;
const tasksAtOnce = 4;
const patienceMs = isLong ? 300_000 : 60_000;

/** What the tables say at one moment, and the last event that was told then. */
async function endOf(url: string) {
  return await withClient(url, async (client) => {
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
    const { rows: jobs } = await client.query<JobRow & { cron: string | null; second: number | null }>(
      `SELECT job_id AS "jobId", state, job_epoch AS "jobEpoch", agent, cron, extract(epoch FROM tick)::integer AS second
       FROM holdfast.jobs ORDER BY n`,
    );
    const { rows: ticks } = await client.query<CronHistory["ticks"][number]>(
      `SELECT extract(epoch FROM tick)::integer AS second, job_id AS "jobId" FROM holdfast.cron_ticks ORDER BY id`,
    );
    const { rows: events } = await client.query<{ last: number }>(
      "SELECT max(id)::integer AS last FROM holdfast.events",
    );
    const ofCron = jobs.filter(({ cron }) => cron === "secondly");
    const crons = [
      { name: "secondly", ticks, jobs: ofCron.map(({ jobId, second }) => ({ jobId, second: second ?? 0 })) },
    ];
    return { rows: jobs, crons, last: events[0]?.last ?? 0 };
  });
}

async function doneCount(url: string): Promise<number> {
  return await withClient(url, async (client) => {
    const { rows } = await client.query<{ done: number }>(
      "SELECT count(*)::integer AS done FROM holdfast.jobs WHERE op = 'work' AND state = 'succeeded'",
    );
    return rows[0]?.done ?? 0;
  });
}

/** How many stale results the leader has refused, by its own count. */
async function staleCount(cluster: JobsCluster): Promise<number> {
  const { process } = await cluster.leader();
  const metrics = await (await process.get("/metrics")).text();
  return Number(/^holdfast_job_stale_results_total (\d+)$/m.exec(metrics)?.[1]);
}

/** Each has led for 2 s then, and something was heard of its work: so there is a next one, who stands ready for it. */
async function killLeaders(cluster: JobsCluster, listener: JobsListener): Promise<void> {
  for (let kill = 0; kill < shape.kills; kill += 1) {
    const since = performance.now();
    const { epoch } = await cluster.leader();
    await listener.until(`epoch ${epoch} works`, () => (listener.events.at(-1)?.leaderEpoch ?? 0) >= epoch);
    await waitUntil(() => performance.now() - since >= killEveryMs, 2 * killEveryMs);
    await cluster.killLeader();
  }
}

test(`${shape.agents} agents work through ${shape.jobs} jobs while ${shape.kills} leaders are killed, one every 2 s: each job counts once, the events have no gap, a cron each second loses no tick and doubles none`, {
  timeout: 4 * patienceMs,
}, async ({ annotate }) => {
  await using database = await createTestDatabase();
  await using cluster = await JobsCluster.start(database.url, 3);
  const { urls } = cluster;
  // They begin at different nodes, and each moves on when its own is killed.
  await using listener = await JobsListener.start("first listener", urls, patienceMs);
  await using second = await JobsListener.start("second listener", urls.toReversed(), patienceMs);
  await using agents = await JobsAgents.start(shape.agents, urls, tasksAtOnce);
  const late = new LateAgent(urls, listener);
  const lateRun = late.run();
  const [acknowledged] = await Promise.all([
    submitAll(urls, listener, shape),
    killLeaders(cluster, listener).finally(() => late.stop()),
    lateRun,
  ]);
  // Where that does not come true, the history says what is missing.
  await waitUntil(async () => (await doneCount(database.url)) >= acknowledged.length, patienceMs);
  await cluster.complete();

  const countedBefore = await staleCount(cluster);
  const toldAgain = await late.tellAgain();
  const counted = (await staleCount(cluster)) - countedBefore;

  const { handings, reports } = await agents.stop();
  const { rows, crons, last } = await endOf(database.url);
  await waitUntil(() => Math.min(listener.last, second.last) >= last, patienceMs);
  const history: JobsHistory = {
    acknowledged,
    streams: [listener.streamTo(last), second.streamTo(last)],
    handings: [...handings, ...late.handings],
    reports: [...reports, ...late.reports],
    rows,
    crons,
  };
  await annotate(accountOf(history, cluster, [listener, second]));
  expect(violationsOf(history).slice(0, 20)).toEqual([]);
  expect(toldAgain).toBeGreaterThan(0);
  expect(counted).toBe(toldAgain);
  expectTested(history, cluster, listener);
});

/** That there was something to break. */
function expectTested(
  { acknowledged, streams, reports, crons }: JobsHistory,
  cluster: JobsCluster,
  listener: JobsListener,
) {
  expect(new Set(acknowledged).size).toBe(shape.jobs);
  expect(new Set(streams[0]?.events.map(({ leaderEpoch }) => leaderEpoch)).size).toBeGreaterThanOrEqual(shape.kills);
  expect(cluster.kills).toHaveLength(shape.kills);
  expect(listener.broken).toBeGreaterThan(0);
  expect(reports.filter(({ answer }) => answer === "stale")).not.toEqual([]);
  expect(reports.filter(({ answer }) => answer === "repeated")).not.toEqual([]);
  expect(crons[0]?.ticks.length).toBeGreaterThanOrEqual((shape.kills * killEveryMs) / 1_000);
}

function accountOf(history: JobsHistory, { kills }: JobsCluster, listeners: readonly JobsListener[]): string {
  const { streams, handings, reports, crons } = history;
  const heard = (answer: string) => reports.filter((report) => report.answer === answer).length;
  const elected = kills.map(({ electedMs }) => electedMs).toSorted((one, other) => one - other);
  const seconds = ((kills.at(-1)?.at ?? 0) - (kills[0]?.at ?? 0)) / 1_000;
  return [
    `${kills.length} leaders killed in ${seconds.toFixed(0)} s, the next led after ${elected.map((ms) => ms.toFixed(0)).join(", ")} ms`,
    `${handings.length} tasks handed out; results: ${heard("accepted")} accepted, ${heard("repeated")} repeated, ${heard("stale")} stale`,
    `${streams[0]?.events.length} events, over ${listeners.map(({ broken }) => broken).join(" and ")} broken connections`,
    `${crons[0]?.ticks.length} ticks`,
  ].join("\n");
}
