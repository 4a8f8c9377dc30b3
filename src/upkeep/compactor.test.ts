import { beforeEach, describe, expect, it } from "vitest";
import { leaseOrder, result, submission } from "../../test/contract/job-leader.js";
import { UpkeepScene } from "../../test/support/upkeep-scene.js";
import { HoldfastError } from "../errors.js";
import type { FenceToken } from "../store/fence-token.js";
import { Compactor } from "./compactor.js";

const hour = 3_600_000;
const day = 24 * hour;
const retention = { jobsDays: 7, deadJobsDays: 30, eventsDays: 3, historyDays: 90, auditDays: 365 };

let scene: UpkeepScene;
let scheduler: FenceToken;
let counted: Record<string, number>;

beforeEach(() => {
  scene = new UpkeepScene();
  scheduler = scene.elect("scheduler");
  counted = {};
});

const compactor = (rules: Partial<typeof retention> = {}): Compactor =>
  new Compactor({
    books: scene.store,
    retention: { ...retention, ...rules },
    clock: scene.clock,
    log: scene.log,
    nodeId: "n",
    trouble: scene.trouble,
    counts: {
      count: (what, gone) => {
        counted[what] = (counted[what] ?? 0) + gone;
      },
    },
  });

const run = async (rules: Partial<typeof retention> = {}, forMs = 60_000): Promise<void> =>
  await scene.lead("log_compactor", compactor(rules), async () => await scene.clock.advance(forMs));

/** Jobs that are finished, in each way. */
async function work(name: string, jobs = 1): Promise<void> {
  const ids = Array.from({ length: jobs }, (_, index) => `${name}-${index}`);
  const { jobs: book } = scene.store;
  await book.apply(scheduler, [
    ...ids.map((jobId) => submission(jobId)),
    submission(`${name}-cancelled`),
    submission(`${name}-failed`),
    leaseOrder(name, { maxTasks: 10_000 }),
  ]);
  await book.apply(scheduler, [
    ...ids.map((jobId) => result(jobId, 1, { leaseId: name })),
    result(`${name}-failed`, 1, { leaseId: name, outcome: { kind: "failed_for_good", error: "no" } }),
    { kind: "cancel", jobId: `${name}-cancelled` },
  ]);
}

const names = async (): Promise<readonly string[]> =>
  (await scene.store.jobs.jobs({}, { limit: 9 })).jobs.map(({ jobId }) => jobId);

describe("the leader of log_compactor", () => {
  it("forgets finished jobs and events by how long each kind is kept, and nothing that is not finished", async () => {
    await work("old");
    await scene.store.jobs.apply(scheduler, [submission("waits")]);
    await scene.clock.advance(8 * day);
    await work("new");
    await run();
    expect(await names()).toEqual(["new-failed", "new-cancelled", "new-0", "waits", "old-failed"]);
    expect(counted).toEqual({ jobs: 2, events: 10 });
    await scene.clock.advance(24 * day);
    await run();
    expect(await names()).toEqual(["new-failed", "waits"]);
  });

  it("keeps everything that is to be kept for ever", async () => {
    await work("old");
    await scene.clock.advance(1_000 * day);
    await run({ jobsDays: 0, deadJobsDays: 0, eventsDays: 0, historyDays: 0, auditDays: 0 });
    expect(await names()).toHaveLength(3);
    expect(counted).toEqual({});
    expect(scene.shared.jobs.events).toHaveLength(9);
  });

  it("forgets the history of crons and elections, the audit, and agents nobody has heard of", async () => {
    const { crons, jobs } = scene.store;
    const cron = { name: "c", source: "code", schedule: "* * * * *", timeZone: "UTC", op: "x", payload: null } as const;
    await crons.define(scheduler, [{ ...cron, policy: { kind: "skip" } }], false);
    await crons.trigger(scheduler, "c", submission("by-hand"));
    await jobs.apply(scheduler, [
      { kind: "heartbeat", agent: "ann", namespace: "d", capabilities: [], version: null, tasks: 0, registers: true },
    ]);
    scene.shared.audit.push({ id: "1", at: scene.database.now(), action: "x" } as never);
    await scene.clock.advance(400 * day);
    scene.elect("scheduler");
    await run();
    expect(counted).toMatchObject({ cron_ticks: 1, history: 1, audit: 1, agents: 1 });
    expect(await crons.history("c", { limit: 9 })).toEqual([]);
  });

  it("works at once, then every hour, in slices with pauses, and tells of it in one line", async () => {
    await work("old", 600);
    await scene.clock.advance(8 * day);
    const slices: number[] = [];
    const { jobs } = scene.store;
    const compact = jobs.compact.bind(jobs);
    jobs.compact = async (fence, order) => {
      slices.push(scene.clock.mono());
      expect(order.limit).toBeLessThanOrEqual(250);
      return await compact(fence, order);
    };
    await run({}, hour - 1);
    const pauses = slices.slice(1).map((at, index) => at - (slices[index] ?? 0));
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(20);
    expect(counted).toMatchObject({ jobs: 601 });
    expect(scene.lines).toMatchObject([
      { role: "log_compactor", epoch: expect.any(Number), node_id: "n", jobs: 601, msg: "compacted what was old" },
    ]);
    const before = slices.length;
    await run({}, hour + 60_000);
    expect(slices.length - before).toBeGreaterThan(3);
    expect(scene.lines.slice(1)).toMatchObject(Array(2).fill({ msg: "nothing was old enough to be compacted" }));
  });

  it("stops between two slices when its term ends, and the next leader goes on", async () => {
    await work("old", 600);
    await scene.clock.advance(8 * day);
    await run({}, 25);
    expect(Object.values(counted).reduce((sum, gone) => sum + gone, 0)).toBeLessThan(601);
    expect(scene.lines.at(-1)).toMatchObject({ msg: "compaction stopped on the way: the next leader goes on" });
    await run();
    expect(counted).toMatchObject({ jobs: 601 });
  });

  it("tries again where the database is away or refuses, and gives the role up for nothing of it", async () => {
    await work("old");
    await scene.clock.advance(8 * day);
    const { jobs } = scene.store;
    const compact = jobs.compact.bind(jobs);
    let failing = 3;
    jobs.compact = async (fence, order) => {
      failing -= 1;
      if (failing === 2) throw new HoldfastError("DATABASE_AWAY", "gone");
      if (failing >= 0) throw new HoldfastError("DATABASE_REFUSED", "no");
      return await compact(fence, order);
    };
    await run();
    expect(scene.troubles).toEqual(Array(3).fill("could not compact what is old"));
    expect(counted).toMatchObject({ jobs: 2 });
  });

  it("writes nothing once another one was elected", async () => {
    await work("old");
    await scene.clock.advance(8 * day);
    const leading = scene.lead("log_compactor", compactor(), async () => {
      scene.elect("log_compactor");
      await scene.clock.advance(60_000);
    });
    await expect(leading).rejects.toMatchObject({ code: "STALE_EPOCH" });
    expect(await names()).toHaveLength(3);
  });
});
