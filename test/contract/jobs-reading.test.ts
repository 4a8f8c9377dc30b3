import { describe, expect, it } from "vitest";
import type { JobFilter } from "../../src/store/job-contract.js";
import { memoryHarness, postgresHarness, type StoreHarness } from "./harness.js";
import {
  eventsOf,
  failed,
  heartbeat,
  type JobLeader,
  leaseOrder,
  openJobsForEach,
  result,
  submission,
} from "./job-leader.js";

/** What anybody may see of jobs, and how long: what both stores keep. */
describe.each([
  ["memory", memoryHarness],
  ["postgres", postgresHarness],
] as const)("the %s store", (_name, makeHarness) => {
  let harness: StoreHarness;
  let leader: JobLeader;

  openJobsForEach(makeHarness, (opened) => {
    ({ harness, leader } = opened);
  });

  /** One in every state, `queued` both ready and waiting. */
  async function fill(): Promise<void> {
    const names = ["succeeded", "failed", "dead", "cancelled", "leased"];
    await leader.do(...names.map((jobId) => submission(jobId, { maxAttempts: 1 })), leaseOrder("l1"));
    await leader.do(
      result("succeeded", 1),
      result("failed", 1, { outcome: { kind: "failed_for_good", error: "no" } }),
      result("dead", 1, { outcome: failed() }),
      { kind: "cancel", jobId: "cancelled" },
      submission("ready", { op: "report", namespace: "billing" }),
      submission("waiting", { runAt: Date.now() + 3_600_000 }),
    );
  }

  const ids = async (filter: JobFilter): Promise<readonly string[]> =>
    (await leader.book.jobs(filter, { limit: 9 })).jobs.map(({ jobId }) => jobId);

  it("lists jobs newest first, by state, operation, namespace, agent and age", async () => {
    await fill();
    expect(await ids({})).toEqual(["waiting", "ready", "leased", "cancelled", "dead", "failed", "succeeded"]);
    expect(await ids({ state: "queued" })).toEqual(["waiting", "ready"]);
    for (const state of ["leased", "succeeded", "failed", "dead", "cancelled"] as const) {
      expect(await ids({ state })).toEqual([state]);
    }
    expect(await ids({ op: "report" })).toEqual(["ready"]);
    expect(await ids({ state: "queued", op: "add" })).toEqual(["waiting"]);
    expect(await ids({ state: "leased", agent: "ben" })).toEqual([]);
    expect(await ids({ state: "dead", namespace: "billing" })).toEqual([]);
    expect(await ids({ namespace: "billing" })).toEqual(["ready"]);
    expect(await ids({ agent: "ann" })).toEqual(["leased", "cancelled", "dead", "failed", "succeeded"]);
    await harness.advance(60_000);
    await leader.submit("new");
    const { createdAt = 0 } = (await leader.book.job("new")) ?? {};
    expect(await ids({ since: createdAt - 30_000 })).toEqual(["new"]);
    expect(await leader.book.job("nobody's")).toBeNull();
  });

  it("shows no agent and no lease of a job that waits to be tried again", async () => {
    await leader.do(submission("one"), leaseOrder("l1"));
    await leader.report("one", 1, { outcome: failed() });
    expect(await leader.book.job("one")).toMatchObject({ agent: null, leaseId: null });
    expect(await ids({ agent: "ann" })).toEqual([]);
  });

  it.each([{}, { state: "queued" }, { state: "leased" }, { state: "dead" }, { state: "succeeded" }] as const)(
    "pages through a list that more than fits, %o",
    async (filter) => {
      const names = ["a", "b", "c", "d", "e"];
      await leader.do(...names.map((jobId) => submission(jobId, { maxAttempts: 1 })));
      const state = "state" in filter ? filter.state : "queued";
      if (state !== "queued") await leader.do(leaseOrder("l1"));
      if (state === "dead") await leader.do(...names.map((jobId) => result(jobId, 1, { outcome: failed() })));
      if (state === "succeeded") await leader.do(...names.map((jobId) => result(jobId, 1)));
      const pages: string[][] = [];
      for (let before: string | null = ""; before !== null; ) {
        const page: { limit: number; before?: string } = before === "" ? { limit: 2 } : { limit: 2, before };
        const { jobs, next } = await leader.book.jobs(filter, page);
        pages.push(jobs.map(({ jobId }) => jobId));
        before = next;
      }
      expect(pages).toEqual([["e", "d"], ["c", "b"], ["a"]]);
    },
  );

  it("counts jobs by state as they change, and tells how long the first that is ready has been so", async () => {
    expect(await leader.book.standing()).toEqual({
      counts: { queued: 0, leased: 0, succeeded: 0, failed: 0, dead: 0, cancelled: 0 },
      submitted: 0,
      oldestReadyMs: null,
      nextDueMs: null,
    });
    await fill();
    await harness.advance(5_000);
    await leader.submit("newer");
    const { counts, submitted, oldestReadyMs, nextDueMs } = await leader.book.standing();
    expect(counts).toEqual({ queued: 3, leased: 1, succeeded: 1, failed: 1, dead: 1, cancelled: 1 });
    expect(submitted).toBe(8);
    expect(oldestReadyMs).toBeGreaterThanOrEqual(5_000);
    expect(nextDueMs).toBeLessThanOrEqual(55_000);
  });

  describe("in its stream of events", () => {
    it("has one for every change of a job, in order, numbered without a gap, with all that it is about", async () => {
      await leader.do(submission("one"), submission("two"), leaseOrder("l1", { maxTasks: 1 }));
      await leader.do(result("one", 1), { kind: "cancel", jobId: "two" });
      expect(await eventsOf(leader.book)).toEqual([
        "job.queued one",
        "job.queued two",
        "job.leased one ann",
        "job.succeeded one ann",
        "job.cancelled two",
      ]);
      const { generation } = await leader.book.events(null, 1);
      const reading = await leader.book.events({ generation, id: 2 }, 2);
      expect(reading).toMatchObject({ kind: "events", generation, events: [{ id: 3 }, { id: 4 }] });
      expect(reading.kind === "events" && reading.events[0]).toEqual({
        id: 3,
        at: expect.any(Number),
        kind: "job.leased",
        data: { job_id: "one", op: "add", namespace: "default", state: "leased", job_epoch: 1, agent: "ann" },
        leaderEpoch: leader.fence.epoch,
      });
    });

    it("goes on from any cursor, however many changes were made at a time", async () => {
      await leader.do(...Array.from({ length: 7 }, (_, index) => submission(`j${index}`)), leaseOrder("l1"));
      const { generation } = await leader.book.events(null, 1);
      const read: number[] = [];
      for (let id = 0; id < 14; id = read.at(-1) ?? 99) {
        const reading = await leader.book.events({ generation, id }, 3);
        if (reading.kind === "events") read.push(...reading.events.map((event) => event.id));
      }
      expect(read).toEqual(Array.from({ length: 14 }, (_, index) => index + 1));
      expect(await leader.book.events({ generation, id: 14 }, 3)).toEqual({ kind: "events", generation, events: [] });
    });

    it("refuses a cursor that it cannot go on from, and tells where it stands", async () => {
      await leader.do(submission("one"), submission("two"));
      const { generation } = await leader.book.events(null, 1);
      const reset = { kind: "reset", generation, last: 2 };
      expect(await leader.book.events(null, 9)).toEqual(reset);
      expect(await leader.book.events({ generation: "another", id: 1 }, 9)).toEqual(reset);
      expect(await leader.book.events({ generation, id: 3 }, 9)).toEqual(reset);
      await leader.submit("three");
      await leader.book.compact(leader.fence, everything);
      expect(await leader.book.events({ generation, id: 0 }, 9)).toEqual({ ...reset, last: 3 });
      expect(await leader.book.events({ generation, id: 2 }, 9)).toMatchObject({ kind: "events", events: [{ id: 3 }] });
      await leader.submit("four");
      expect(await leader.book.events({ generation, id: 2 }, 9)).toMatchObject({ events: [{ id: 3 }, { id: 4 }] });
    });
  });

  const everything = {
    states: ["succeeded", "failed", "dead", "cancelled"],
    jobsOlderThanMs: 0,
    eventsOlderThanMs: 0,
    agentsOlderThanMs: 0,
    from: 0,
    limit: 100,
  } as const;

  describe("compacting", () => {
    it("forgets what is finished and old, in the states named, and nothing else", async () => {
      await fill();
      await leader.do(heartbeat("ann"), heartbeat("ben"));
      const { book, fence } = leader;
      const old = { jobsOlderThanMs: 60_000, eventsOlderThanMs: 60_000, agentsOlderThanMs: 60_000 };
      expect(await book.compact(fence, { ...everything, ...old })).toEqual({
        jobs: 0,
        events: 0,
        agents: 0,
        next: null,
      });
      await harness.advance(61_000);
      await leader.submit("last");
      const states = ["succeeded", "failed"] as const;
      // Ann has a lease still.
      expect(await book.compact(fence, { ...everything, ...old, states })).toEqual({
        jobs: 2,
        events: 18,
        agents: 1,
        next: null,
      });
      expect(await ids({})).toEqual(["last", "waiting", "ready", "leased", "cancelled", "dead"]);
      expect((await book.standing()).counts).toEqual({
        queued: 3,
        leased: 1,
        succeeded: 0,
        failed: 0,
        dead: 1,
        cancelled: 1,
      });
      expect(await book.agents()).toMatchObject([{ name: "ann" }]);
    });

    it("goes through the jobs a slice at a time, and frees their ids and keys", async () => {
      const names = ["a", "b", "c", "d", "e"];
      await leader.do(...names.map((jobId) => submission(jobId, { idempotencyKey: jobId })), leaseOrder("l1"));
      await leader.do(...names.filter((jobId) => jobId !== "b").map((jobId) => result(jobId, 1)));
      const { book, fence } = leader;
      const gone: number[] = [];
      for (let from: number | null = 0; from !== null; ) {
        const { jobs, next } = await book.compact(fence, { ...everything, from, limit: 2 });
        gone.push(jobs);
        from = next;
      }
      expect(gone).toEqual([1, 2, 1]);
      expect(await ids({})).toEqual(["b"]);
      expect(await leader.submit("a", { idempotencyKey: "c" })).toMatchObject({ kind: "created", jobId: "a" });
      expect((await book.job("a"))?.n).toBe(6);
    });
  });
});
