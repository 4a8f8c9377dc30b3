import { beforeEach, describe, expect, it } from "vitest";
import { StaleEpochError } from "../../src/errors.js";
import type { TickMark } from "../../src/jobs/core/cron-plan.js";
import { planHoldsMs } from "../../src/jobs/core/cron-round.js";
import type { CronBook, CronDefinition, CronFiring, CronRow } from "../../src/store/cron-contract.js";
import { memoryHarness, type Player, postgresHarness, type StoreHarness } from "./harness.js";
import { JobLeader, openJobsForEach, submission } from "./job-leader.js";

const nightly: CronDefinition = {
  name: "nightly",
  source: "settings",
  schedule: "0 2 * * *",
  timeZone: "Europe/Berlin",
  op: "report",
  payload: { pages: [1, 2], title: "Nächtlich" },
  policy: { kind: "coalesce" },
};
const hourly: CronDefinition = {
  ...nightly,
  name: "hourly",
  schedule: "0 * * * *",
  policy: { kind: "catch_up", max: 7 },
};
const fromCode: CronDefinition = { ...nightly, name: "from-code", source: "code", policy: { kind: "skip" } };

/** Crons: what both stores keep, whoever leads. */
describe.each([
  ["memory", memoryHarness],
  ["postgres", postgresHarness],
] as const)("the crons of the %s store", (_name, makeHarness) => {
  let harness: StoreHarness;
  let player: Player;
  let leader: JobLeader;
  let book: CronBook;

  openJobsForEach(makeHarness, (opened) => {
    ({ harness, player, leader } = opened);
  });

  beforeEach(async () => {
    book = player.store.crons;
    await book.define(leader.fence, [nightly, hourly, fromCode], true);
    await harness.advance(1_000);
  });

  async function cron(name = "nightly"): Promise<CronRow> {
    const found = (await book.look()).crons.find((each) => each.name === name);
    if (found === undefined) throw new Error(`no cron ${name}`);
    return found;
  }

  /** A tick of this very moment, as a plan that was made just now. */
  async function firing(of: Partial<TickMark> = {}, name = "nightly"): Promise<CronFiring> {
    const { generation, lastTick } = await cron(name);
    const { now } = await book.look();
    const mark: TickMark = { tick: now, kind: "fired", missed: 0, ...of };
    const job = { ...submission(`${name}-${mark.tick}`), cron: name, tick: mark.tick };
    return {
      order: { cron: name, generation, lastTick, plannedAt: now, marks: [mark] },
      jobs: mark.kind === "skipped" ? [] : [job],
    };
  }

  it("are as they were defined, begin when they are, and are the same when they are defined again", async () => {
    const { now, crons } = await book.look();
    expect(crons).toEqual([
      { ...fromCode, generation: 1, paused: false, goneAt: null, lastTick: expect.any(Number) },
      { ...hourly, generation: 1, paused: false, goneAt: null, lastTick: expect.any(Number) },
      { ...nightly, generation: 1, paused: false, goneAt: null, lastTick: expect.any(Number) },
    ]);
    for (const { lastTick } of crons) expect(Math.abs(now - lastTick)).toBeLessThan(60_000);
    await harness.advance(5_000);
    const before = (await book.look()).crons;
    await book.define(leader.fence, [nightly, hourly, fromCode], true);
    expect((await book.look()).crons).toEqual(before);
  });

  it("go on where another operation is asked of them, and begin anew where another time is", async () => {
    await harness.advance(10_000);
    const { lastTick } = await cron();
    await book.define(leader.fence, [{ ...nightly, op: "other", payload: null }], false);
    expect(await cron()).toMatchObject({ op: "other", payload: null, generation: 2, lastTick });
    await book.define(leader.fence, [{ ...nightly, timeZone: "UTC" }], false);
    const changed = await cron();
    expect(changed).toMatchObject({ timeZone: "UTC", generation: 3 });
    expect(changed.lastTick).toBeGreaterThanOrEqual(lastTick + 9_000);
  });

  it("are gone when the settings do not name them any more, keep their history, and begin anew when they come back", async () => {
    const fired = await firing();
    await book.fire(leader.fence, [fired]);
    await book.define(leader.fence, [hourly], true);
    expect(await cron()).toMatchObject({ generation: 2, goneAt: expect.any(Number) });
    expect((await cron("from-code")).goneAt).toBeNull();
    const late = { ...(await firing()) };
    expect(await book.fire(leader.fence, [late])).toEqual({ kind: "changed" });
    expect(await book.trigger(leader.fence, "nightly", submission("t"))).toBe(false);
    expect(await book.setPaused(leader.fence, "nightly", true)).toBe(false);
    expect(await book.history("nightly", { limit: 5 })).toHaveLength(1);
    await harness.advance(10_000);
    const { lastTick } = await cron();
    await book.define(leader.fence, [nightly, hourly], true);
    const back = await cron();
    expect(back).toMatchObject({ goneAt: null, paused: false, generation: 3 });
    expect(back.lastTick).toBeGreaterThanOrEqual(lastTick + 9_000);
  });

  it("fire: the tick is noted and its job submitted, in one", async () => {
    const fired = await firing({ kind: "coalesced", missed: 3 });
    const { tick } = fired.order.marks[0]!;
    expect(await book.fire(leader.fence, [fired])).toEqual({ kind: "fired" });
    expect(await cron()).toMatchObject({ lastTick: tick, generation: 1 });
    const jobId = `nightly-${tick}`;
    expect(await leader.book.job(jobId)).toMatchObject({ state: "queued", cron: "nightly", tick });
    expect(await book.history("nightly", { limit: 5 })).toEqual([
      { id: expect.any(String), tick, decidedAt: expect.any(Number), kind: "coalesced", missed: 3, jobId },
    ]);
  });

  it("note a tick that is skipped, without a job", async () => {
    expect(await book.fire(leader.fence, [await firing({ kind: "skipped", missed: 2 })])).toEqual({ kind: "fired" });
    expect(await book.history("nightly", { limit: 5 })).toMatchObject([{ kind: "skipped", missed: 2, jobId: null }]);
    expect((await leader.book.standing()).submitted).toBe(0);
  });

  it("fire a plan once: the last tick is compared, and set", async () => {
    const fired = await firing();
    const again = { ...fired, jobs: fired.jobs.map((job) => ({ ...job, jobId: "another" })) };
    expect(await book.fire(leader.fence, [fired])).toEqual({ kind: "fired" });
    expect(await book.fire(leader.fence, [again])).toEqual({ kind: "changed" });
    expect(await leader.book.job("another")).toBeNull();
    expect(await book.history("nightly", { limit: 5 })).toHaveLength(1);
  });

  it("fire a plan once also where it arrives twice at the same time", async () => {
    const fired = await firing();
    const again = { ...fired, jobs: fired.jobs.map((job) => ({ ...job, jobId: "another" })) };
    const outcomes = await Promise.all([book.fire(leader.fence, [fired]), book.fire(leader.fence, [again])]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["changed", "fired"]);
    expect((await leader.book.standing()).counts.queued).toBe(1);
  });

  it("fire nothing of a plan for several where one of them has changed", async () => {
    const two = [await firing(), await firing({}, "hourly")];
    await book.setPaused(leader.fence, "hourly", true);
    expect(await book.fire(leader.fence, two)).toEqual({ kind: "changed" });
    expect((await leader.book.standing()).submitted).toBe(0);
    expect(await book.history("nightly", { limit: 5 })).toEqual([]);
  });

  it("refuse what is not due by the database's clock, and a plan that has grown old", async () => {
    const { now } = await book.look();
    const early = await firing({ tick: now + 60_000 });
    expect(await book.fire(leader.fence, [early])).toEqual({ kind: "not_now" });
    const old = await firing({ tick: now - 3_600_000 });
    const plannedAt = old.order.plannedAt - planHoldsMs - 1_000;
    expect(await book.fire(leader.fence, [{ ...old, order: { ...old.order, plannedAt } }])).toEqual({
      kind: "not_now",
    });
    expect((await leader.book.standing()).submitted).toBe(0);
  });

  it("do not fire while they are paused, and begin anew when they go on", async () => {
    const planned = await firing();
    expect(await book.setPaused(leader.fence, "nightly", true)).toBe(true);
    expect(await cron()).toMatchObject({ paused: true, generation: 2 });
    expect(await book.fire(leader.fence, [planned])).toEqual({ kind: "changed" });
    expect(await book.fire(leader.fence, [await firing()])).toEqual({ kind: "changed" });
    await harness.advance(10_000);
    const { lastTick } = await cron();
    await book.define(leader.fence, [nightly, hourly, fromCode], true);
    expect((await cron()).paused).toBe(true);
    expect(await book.setPaused(leader.fence, "nightly", false)).toBe(true);
    const resumed = await cron();
    expect(resumed.paused).toBe(false);
    expect(resumed.lastTick).toBeGreaterThanOrEqual(lastTick + 9_000);
    expect(await book.setPaused(leader.fence, "nightly", false)).toBe(true);
    expect((await cron()).lastTick).toBe(resumed.lastTick);
    expect(await book.setPaused(leader.fence, "nobody", true)).toBe(false);
  });

  it("are triggered beside their schedule, once for each job, also where they are paused", async () => {
    await book.setPaused(leader.fence, "nightly", true);
    const { lastTick } = await cron();
    for (const jobId of ["t1", "t1", "t2"]) {
      expect(await book.trigger(leader.fence, "nightly", { ...submission(jobId), cron: "nightly" })).toBe(true);
    }
    expect(await book.trigger(leader.fence, "nobody", submission("t3"))).toBe(false);
    expect(await leader.book.job("t3")).toBeNull();
    expect((await cron()).lastTick).toBe(lastTick);
    expect(await book.history("nightly", { limit: 5 })).toMatchObject([
      { kind: "triggered", jobId: "t2" },
      { kind: "triggered", jobId: "t1" },
    ]);
    expect((await leader.book.standing()).counts.queued).toBe(2);
  });

  it("tell their history page by page, and forget what is old", async () => {
    for (let times = 0; times < 3; times += 1) {
      await book.trigger(leader.fence, "nightly", submission(`t${times}`));
      await harness.advance(10_000);
    }
    const [newest, second] = await book.history("nightly", { limit: 2 });
    expect([newest?.jobId, second?.jobId]).toEqual(["t2", "t1"]);
    expect(await book.history("nightly", { limit: 2, before: second!.id })).toMatchObject([{ jobId: "t0" }]);
    expect(await book.history("hourly", { limit: 2 })).toEqual([]);
    expect(await book.forget(leader.fence, 15_000, 1)).toBe(1);
    expect(await book.forget(leader.fence, 15_000, 10)).toBe(1);
    expect(await book.forget(leader.fence, 15_000, 10)).toBe(0);
    expect(await book.history("nightly", { limit: 5 })).toMatchObject([{ jobId: "t2" }]);
  });

  it("refuse every write of a deposed epoch, and nothing of it is left", async () => {
    const { fence } = leader;
    await book.trigger(fence, "nightly", submission("before"));
    const planned = await firing();
    await player.release(fence.epoch);
    await player.lead();
    const before = (await book.look()).crons;
    const writes = [
      () => book.define(fence, [{ ...nightly, op: "other" }], true),
      () => book.fire(fence, [planned]),
      () => book.trigger(fence, "nightly", submission("late")),
      () => book.setPaused(fence, "nightly", true),
      () => book.forget(fence, 0, 10),
    ];
    for (const write of writes) await expect(write()).rejects.toBeInstanceOf(StaleEpochError);
    expect((await book.look()).crons).toEqual(before);
    expect(await book.history("nightly", { limit: 5 })).toMatchObject([{ jobId: "before" }]);
    expect((await leader.book.standing()).submitted).toBe(1);
  });

  it("fire a plan of the leader before, where its successor sends it: nothing was lost with him", async () => {
    const planned = await firing();
    await player.release(leader.fence.epoch);
    const next = await JobLeader.elect(player);
    expect(await book.fire(next.fence, [planned])).toEqual({ kind: "fired" });
    expect(await next.book.job(planned.jobs[0]!.jobId)).toMatchObject({ leaderEpoch: next.fence.epoch });
  });
});
