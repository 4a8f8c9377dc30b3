import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTestCluster, type TestCluster } from "../testing.js";
import type { NewCron } from "./new-cron.js";

type Node = Awaited<ReturnType<TestCluster["start"]>>;

const minuteMs = 60_000;
const everyMinute: NewCron = { name: "minutely", schedule: "* * * * *", op: "sweep", payload: { deep: true } };

async function refusalOf(doing: () => unknown): Promise<{ readonly code: unknown; readonly message: string }> {
  try {
    await doing();
  } catch (error) {
    return error as { code: unknown; message: string };
  }
  throw new Error("nothing was refused");
}

describe("crons", () => {
  let cluster: TestCluster;
  let node: Node;

  beforeEach(async () => {
    cluster = createTestCluster();
    node = await cluster.start();
  });

  afterEach(async () => {
    const closed = node.close();
    await cluster.clock.advance(minuteMs);
    await closed;
  });

  async function ticksOf(name = "minutely"): Promise<readonly number[]> {
    return (await node.crons.history(name, { limit: 10_000 })).map(({ tick }) => tick).reverse();
  }

  /** Every job there is, the newest first. */
  async function jobs() {
    return (await node.jobs.book.jobs({}, { limit: 100 })).jobs;
  }

  it("of a program submit a job at each tick, on the leader", async () => {
    node.crons.define(everyMinute);
    await cluster.gain(node, "scheduler");
    await cluster.clock.advance(3 * minuteMs);
    const ticks = await ticksOf();
    expect(ticks.length).toBeGreaterThanOrEqual(3);
    expect(ticks.every((tick) => tick % minuteMs === 0)).toBe(true);
    expect(ticks.map((tick) => (tick - ticks[0]!) / minuteMs)).toEqual(ticks.map((_tick, index) => index));
    const [newest] = await jobs();
    expect(newest).toMatchObject({ op: "sweep", payload: { deep: true }, cron: "minutely", tick: ticks.at(-1) });
    expect(newest!.createdAt - ticks.at(-1)!).toBeLessThan(1_000);
  });

  it("of the settings fire without a word of the program", async () => {
    const settled = await cluster.start({ crons: [{ name: "stated", schedule: "* * * * *", op: "report" }] });
    await cluster.gain(settled, "scheduler");
    await cluster.clock.advance(2 * minuteMs);
    expect((await ticksOf("stated")).length).toBeGreaterThanOrEqual(2);
    expect(await settled.crons.list()).toMatchObject([
      { name: "stated", source: "settings", nextTick: expect.any(Number) },
    ]);
    const closed = settled.close();
    await cluster.clock.advance(minuteMs);
    await closed;
  });

  it("hand their jobs to whoever waits for one", async () => {
    node.crons.define(everyMinute);
    await cluster.gain(node, "scheduler");
    const wish = { agent: "ann", namespace: "default", capabilities: [], maxTasks: 1 };
    const waiting = node.jobs.lease(wish, 10 * minuteMs, new AbortController().signal);
    await cluster.clock.advance(minuteMs);
    expect(await waiting).toMatchObject({ kind: "leased", tasks: [{ op: "sweep" }] });
  });

  it("that come while their leader sleeps are fired at their first tick", async () => {
    node.crons.define({ ...everyMinute, name: "yearly", schedule: "0 0 1 1 *" });
    await cluster.gain(node, "scheduler");
    node.crons.define(everyMinute);
    await cluster.clock.advance(minuteMs);
    expect(await ticksOf()).toHaveLength(1);
  });

  it("make up for what fell between two leaders, by their policy, and double nothing", async () => {
    const policies = [
      { ...everyMinute, name: "one-for-all", missed: "coalesce" },
      { ...everyMinute, name: "none", missed: "skip" },
      { ...everyMinute, name: "one-each", missed: "catch_up", catchUpMax: 3 },
    ] as const;
    for (const cron of policies) node.crons.define(cron);
    await cluster.gain(node, "scheduler");
    await cluster.clock.advance(minuteMs);
    const stopped = node.close();
    await cluster.clock.advance(10 * minuteMs + 30_000);
    await stopped;
    node = await cluster.start();
    for (const cron of policies) node.crons.define(cron);
    await cluster.gain(node, "scheduler");
    const newest = async (name: string) =>
      (await node.crons.history(name, { limit: 20 })).map(({ kind, missed }) => [kind, missed]);
    expect(await newest("one-for-all")).toEqual([
      ["coalesced", 9],
      ["fired", 0],
    ]);
    expect(await newest("none")).toEqual([
      ["fired", 9],
      ["fired", 0],
    ]);
    expect(await newest("one-each")).toEqual([
      ["fired", 0],
      ["fired", 0],
      ["fired", 7],
      ["fired", 0],
    ]);
    const text = await node.registry.metrics();
    expect(text).toContain('holdfast_cron_fired_total{cron="one-each"} 3');
    expect(text).toContain('holdfast_cron_missed_total{cron="one-each"} 7');
    expect(text).toContain('holdfast_cron_missed_total{cron="one-for-all"} 9');
  });

  it("that the leader does not define rest, and go on where one does", async () => {
    node.crons.define(everyMinute);
    await cluster.gain(node, "scheduler");
    await cluster.clock.advance(minuteMs);
    const other = await cluster.start();
    other.crons.open();
    await cluster.gain(other, "scheduler");
    await cluster.clock.advance(3 * minuteMs);
    const before = await ticksOf();
    await cluster.gain(node, "scheduler");
    await cluster.clock.advance(1_000);
    const after = await ticksOf();
    expect(after).toHaveLength(before.length + 1);
    expect(after.at(-1)! - before.at(-1)!).toBeGreaterThanOrEqual(3 * minuteMs);
    const closed = other.close();
    await cluster.clock.advance(minuteMs);
    await closed;
  });

  it("can be steered in the very moment that they are defined", async () => {
    node.crons.define(everyMinute);
    await cluster.gain(node, "scheduler");
    node.crons.define({ ...everyMinute, name: "triggered" }).define({ ...everyMinute, name: "paused" });
    const steered = Promise.all([node.crons.trigger("triggered"), node.crons.pause("paused")]);
    await cluster.clock.advance(1_000);
    expect(await steered).toMatchObject([{ jobId: expect.any(String) }, { name: "paused", paused: true }]);
  });

  it("are triggered as they were defined last", async () => {
    node.crons.define(everyMinute);
    await cluster.gain(node, "scheduler");
    await cluster.clock.advance(1_000);
    const triggered = node.crons.define({ ...everyMinute, payload: { deep: false } }).trigger("minutely");
    await cluster.clock.advance(1_000);
    expect(await node.jobs.book.job((await triggered).jobId)).toMatchObject({ payload: { deep: false } });
  });

  it("are paused, resumed and triggered on the leader", async () => {
    node.crons.define(everyMinute);
    await cluster.gain(node, "scheduler");
    await cluster.clock.advance(minuteMs);
    expect(await node.crons.pause("minutely")).toMatchObject({ paused: true, nextTick: null });
    const before = await ticksOf();
    await cluster.clock.advance(5 * minuteMs);
    expect(await ticksOf()).toEqual(before);
    const { jobId } = await node.crons.trigger("minutely");
    expect(await node.jobs.book.job(jobId)).toMatchObject({ op: "sweep", cron: "minutely", tick: null });
    expect(await node.crons.history("minutely", { limit: 1 })).toMatchObject([{ kind: "triggered", jobId }]);
    const resumed = await node.crons.resume("minutely");
    expect(resumed).toMatchObject({ paused: false });
    await cluster.clock.advance(minuteMs);
    expect((await ticksOf()).at(-1)).toBe(resumed.nextTick);
    expect(await ticksOf()).toHaveLength(before.length + 2);
  });

  it("are steered by the leader alone, and only those that there are", async () => {
    expect(await refusalOf(() => node.crons.pause("minutely"))).toMatchObject({ code: "NOT_LEADER" });
    node.crons.define(everyMinute);
    expect(await refusalOf(() => node.crons.trigger("minutely"))).toMatchObject({ code: "NOT_LEADER" });
    await cluster.gain(node, "scheduler");
    for (const steer of ["trigger", "pause", "resume"] as const) {
      expect(await refusalOf(() => node.crons[steer]("nobody"))).toMatchObject({
        code: "NOT_FOUND",
        message: 'There is no cron "nobody".',
      });
    }
  });

  it("are open where jobs are, and jobs where they are: one leader has both", async () => {
    node.jobs.open();
    await cluster.gain(node, "scheduler");
    expect(await refusalOf(() => node.crons.pause("nobody"))).toMatchObject({ code: "NOT_FOUND" });
    const other = await cluster.start();
    other.crons.open();
    await cluster.gain(other, "scheduler");
    expect(await other.jobs.submit([{ op: "sweep" }])).toMatchObject([{ kind: "created" }]);
    const closed = other.close();
    await cluster.clock.advance(minuteMs);
    await closed;
  });

  it.each([
    [{ name: "a/b" }, `A cron's name must be 1 to 100 of the characters A-Z, a-z, 0-9, "_", "." and "-", not "a/b".`],
    [
      { schedule: "61 * * * *" },
      'Cron "minutely" cannot be: The schedule "61 * * * *": minute: 61 is not between 0 and 59.',
    ],
    [{ timeZone: "Mars/Olympus" }, 'Cron "minutely" cannot be: There is no time zone "Mars/Olympus".'],
    [{ catchUpMax: 0 }, 'Cron "minutely" cannot be: catch_up_max must be a whole number from 1 to 10000.'],
  ])("that make no sense are refused: %j", async (wrong, message) => {
    expect(await refusalOf(() => node.crons.define({ ...everyMinute, ...wrong }))).toMatchObject({
      code: "BAD_SETTINGS",
      message,
    });
  });

  it("are refused where their operation or payload could not be a job's", async () => {
    expect((await refusalOf(() => node.crons.define({ ...everyMinute, op: "no spaces" }))).message).toContain(
      "op must be",
    );
    const large = await refusalOf(() => node.crons.define({ ...everyMinute, payload: "x".repeat(300_000) }));
    expect(large.message).toContain("payload has 300002 bytes");
  });
});
