import { expect, test } from "vitest";
import { clusterNode, heirOf } from "../support/election.js";
import { NodeProcess } from "../support/node-process.js";
import { createTestDatabase, withClient } from "../support/postgres.js";

const isLong = process.env.HOLDFAST_LONG === "1";
const kills = isLong ? 30 : 5;

const crons = [
  { name: "secondly", schedule: "* * * * * *", op: "tick", missed: "catch_up", catchUpMax: 1_000 },
  { name: "together", schedule: "* * * * * *", op: "tock", timeZone: "Asia/Kolkata", missed: "coalesce" },
] as const;

interface TickRow {
  readonly tick: number;
  readonly kind: string;
  readonly missed: number;
  readonly epoch: number;
  /** How many jobs there are for it. */
  readonly jobs: number;
}

async function ticksOf(url: string, cron: string): Promise<readonly TickRow[]> {
  return await withClient(url, async (client) => {
    const { rows } = await client.query<TickRow>(
      `select extract(epoch from t.tick)::integer as tick, t.kind, t.missed, t.leader_epoch::integer as epoch,
         (select count(*)::integer from holdfast.jobs j where j.cron = t.cron and j.tick = t.tick and j.job_id = t.job_id) as jobs
       from holdfast.cron_ticks t where t.cron = $1 order by t.id`,
      [cron],
    );
    return rows;
  });
}

/** Resolves when the cron has fired so many more times than it had. */
async function firedAgain(url: string, cron: string, times: number): Promise<void> {
  const before = (await ticksOf(url, cron)).length;
  await expect
    .poll(async () => (await ticksOf(url, cron)).length, { interval: 50, timeout: 30_000 })
    .toBeGreaterThanOrEqual(before + times);
}

async function jobCount(url: string, cron: string): Promise<number> {
  return await withClient(url, async (client) => {
    const { rows } = await client.query<{ n: number }>(
      "select count(*)::integer as n from holdfast.jobs where cron = $1",
      [cron],
    );
    return rows[0]?.n ?? 0;
  });
}

test(`a cron each second over ${kills} kills of its leader and a stall loses no tick and doubles none`, {
  timeout: 60_000 + kills * 20_000,
}, async () => {
  await using database = await createTestDatabase();
  const { url } = database;
  const nodes: NodeProcess[] = [];
  const start = async (id: string): Promise<NodeProcess> => {
    const node = await NodeProcess.start({ settings: { ...clusterNode(url, id), crons: [...crons] } });
    nodes.push(node);
    return node;
  };
  try {
    let leader = await start("node-0");
    await leader.said("elected");
    await firedAgain(url, "secondly", 2);
    for (let round = 1; round <= kills + 1; round += 1) {
      const heir = await start(`node-${round}`);
      expect(await heirOf(url)).toBe(heir.id);
      // Just after a tick, and just before the next: where a commit may be under way.
      await firedAgain(url, "secondly", 1);
      if (round % 2 === 0) await expect.poll(() => Date.now() % 1_000, { interval: 5 }).toBeGreaterThan(970);
      leader.kill(round === 3 ? "SIGSTOP" : "SIGKILL");
      await heir.said("elected");
      leader = heir;
    }
    nodes[2]?.kill("SIGCONT");
    await firedAgain(url, "secondly", 2);
    await firedAgain(url, "together", 1);
  } finally {
    for (const node of nodes) await node[Symbol.asyncDispose]();
  }
  const secondly = await ticksOf(url, "secondly");
  expect(secondly.map(({ tick }) => tick - (secondly[0]?.tick ?? 0))).toEqual(secondly.map((_row, index) => index));
  expect(secondly.filter(({ jobs, missed }) => jobs !== 1 || missed !== 0)).toEqual([]);
  expect(await jobCount(url, "secondly")).toBe(secondly.length);
  expect(new Set(secondly.map(({ epoch }) => epoch)).size).toBeGreaterThanOrEqual(kills + 2);

  const together = await ticksOf(url, "together");
  const accounted = together.reduce((sum, { missed }) => sum + missed + 1, 0);
  expect(accounted).toBe((together.at(-1)?.tick ?? 0) - (together[0]?.tick ?? 0) + 1);
  expect(together.filter(({ jobs }) => jobs !== 1)).toEqual([]);
  expect(together.filter(({ kind, missed }) => (kind === "coalesced") !== missed > 0)).toEqual([]);
});
