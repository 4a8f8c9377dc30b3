import { beforeEach, describe, expect, it } from "vitest";
import type { JobOrder } from "../../src/store/job-orders.js";
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

/** How leases go on and end without a result, and what operators do to jobs and agents: what both stores keep. */
describe.each([
  ["memory", memoryHarness],
  ["postgres", postgresHarness],
] as const)("in the %s store", (_name, makeHarness) => {
  let harness: StoreHarness;
  let leader: JobLeader;

  openJobsForEach(makeHarness, (opened) => {
    ({ harness, leader } = opened);
  });

  const renewal = (leaseId: string, rest: object = {}) =>
    ({ kind: "renew", leaseId, agent: "ann", ttlMs: 60_000, progress: [], ...rest }) as const;
  const giveBack = (rest: object = {}) =>
    ({ kind: "give_back", agent: "ann", leaseId: null, jobIds: null, ...rest }) as const;

  describe("a renewal", () => {
    it("keeps all jobs of its lease, tells which they are, and how far they are", async () => {
      await leader.do(...["one", "two", "three"].map((jobId) => submission(jobId)), leaseOrder("l1"));
      await leader.do({ kind: "cancel", jobId: "two" });
      await harness.advance(50_000);
      const progress = [
        { jobId: "one", progress: { percent: 40, zero: "\0" } },
        { jobId: "two", progress: { percent: 99 } },
      ];
      const [answer] = await leader.do(renewal("l1", { progress }));
      expect(answer).toEqual({ kind: "renewed", expiresAt: expect.any(Number), jobIds: ["one", "three"] });
      await harness.advance(50_000);
      expect((await leader.ripen()).lost).toEqual([]);
      expect(await leader.book.job("one")).toMatchObject({ state: "leased", progress: { percent: 40, zero: "\0" } });
      expect(await leader.book.job("two")).toMatchObject({ state: "cancelled", progress: null });
      await leader.report("one", 1);
      expect(await leader.book.job("one")).toMatchObject({ state: "succeeded", progress: { percent: 40 } });
    });

    it("of a lease that is gone or another's renews nothing", async () => {
      await leader.do(submission("one"), leaseOrder("l1"));
      expect(await leader.do(renewal("l1", { agent: "ben" }), renewal("l2"))).toEqual([
        { kind: "foreign" },
        { kind: "unknown" },
      ]);
      await leader.report("one", 1);
      expect(await leader.do(renewal("l1"))).toEqual([{ kind: "unknown" }]);
    });

    it("does not stretch an attempt beyond the job's own timeout", async () => {
      await leader.do(submission("short", { timeoutMs: 70_000 }), submission("long"), leaseOrder("l1"));
      await harness.advance(50_000);
      await leader.do(renewal("l1"));
      expect((await leader.book.standing()).nextDueMs).toBeLessThanOrEqual(20_000);
      await harness.advance(21_000);
      expect((await leader.ripen()).lost).toEqual([{ jobId: "short", agent: "ann", state: "queued" }]);
      expect(await leader.book.job("short")).toMatchObject({ error: "took longer than its timeout", attempts: 1 });
      expect(await leader.do(renewal("l1"))).toMatchObject([{ kind: "renewed", jobIds: ["long"] }]);
      expect((await leader.ripen()).lost).toEqual([]);
    });
  });

  describe("a lease that runs out", () => {
    it("costs the attempt: its jobs are ready again, or dead", async () => {
      await leader.do(submission("one", { maxAttempts: 1 }), submission("two"), leaseOrder("l1"));
      expect((await leader.ripen()).lost).toEqual([]);
      await harness.advance(61_000);
      expect(await leader.ripen()).toEqual({
        ripened: 0,
        lost: [
          { jobId: "one", agent: "ann", state: "dead" },
          { jobId: "two", agent: "ann", state: "queued" },
        ],
      });
      expect(await leader.book.job("one")).toMatchObject({ state: "dead", error: "the lease ran out", agent: "ann" });
      expect(await leader.book.job("two")).toMatchObject({ state: "queued", error: "the lease ran out", attempts: 1 });
      expect(await leader.take("l2")).toMatchObject([{ jobId: "two", jobEpoch: 2, attempt: 2 }]);
      expect((await leader.book.standing()).counts).toMatchObject({ dead: 1, leased: 1, queued: 0 });
    });

    it("is found as many at a time as asked for", async () => {
      for (const id of ["1", "2", "3"]) await leader.do(submission(`j${id}`), leaseOrder(`l${id}`));
      await harness.advance(61_000);
      const { book, fence } = leader;
      expect(await book.ripen(fence, 2)).toMatchObject({ lost: [{ jobId: "j1" }, { jobId: "j2" }], nextDueMs: 0 });
      expect(await book.ripen(fence, 2)).toMatchObject({ lost: [{ jobId: "j3" }], nextDueMs: null });
    });
  });

  describe("a job that is given back", () => {
    beforeEach(async () => {
      await leader.do(...["one", "two", "three"].map((jobId) => submission(jobId)), leaseOrder("l1", { maxTasks: 2 }));
      await leader.do(
        leaseOrder("l2"),
        submission("ben's", { pinnedAgent: "ben" }),
        leaseOrder("l3", { agent: "ben" }),
      );
    });

    it("costs no attempt, is ready at once, and keeps its epoch raised", async () => {
      expect(await leader.do(giveBack({ leaseId: "l1" }))).toEqual([{ kind: "given_back", jobIds: ["one", "two"] }]);
      expect(await leader.book.job("one")).toMatchObject({ state: "queued", attempts: 0, jobEpoch: 1, agent: null });
      expect(await leader.report("one", 1)).toEqual({ kind: "stale", expected: 2 });
      expect(await leader.take("l4")).toMatchObject([{ jobId: "one", jobEpoch: 2, attempt: 1 }, { jobId: "two" }]);
    });

    it("is dead where as many processes in a row have ended with it as it may cost, until it is redriven", async () => {
      const crash = giveBack({ jobIds: ["one"], mostCrashes: 3 });
      const takenAnd = async (leaseId: string, end: JobOrder): Promise<void> => {
        expect(await leader.takeIds(leaseId, { maxTasks: 1 })).toEqual(["one"]);
        await leader.do(end);
      };
      await leader.do(crash);
      // A result in between: it is not the job that ends its processes.
      await takenAnd("l4", result("one", 2, { leaseId: "l4", outcome: failed() }));
      await harness.advance(20_000);
      await leader.ripen();
      for (const leaseId of ["l5", "l6"]) await takenAnd(leaseId, crash);
      await takenAnd("l7", giveBack({ jobIds: ["one"] }));
      expect(await leader.book.job("one")).toMatchObject({ state: "queued", attempts: 1 });
      await takenAnd("l8", crash);
      const error = "3 nodes in a row died, or fell silent, while they worked on it";
      expect(await leader.book.job("one")).toMatchObject({ state: "dead", attempts: 1, error });
      expect((await leader.book.standing()).counts).toMatchObject({ dead: 1 });
      expect((await eventsOf(leader.book)).at(-1)).toBe("job.dead one ann");
      await leader.do({ kind: "redrive", jobId: "one" });
      await takenAnd("l9", crash);
      expect(await leader.book.job("one")).toMatchObject({ state: "queued", attempts: 0 });
    });

    it("is one of those named, of its agent's alone", async () => {
      const jobIds = ["two", "three", "ben's", "nobody's"];
      expect(await leader.do(giveBack({ jobIds, leaseId: "l1" }), giveBack({ jobIds }), giveBack({ jobIds }))).toEqual([
        { kind: "given_back", jobIds: ["two"] },
        { kind: "given_back", jobIds: ["three"] },
        { kind: "given_back", jobIds: [] },
      ]);
      expect(await leader.book.job("ben's")).toMatchObject({ state: "leased" });
    });

    it("is any that its agent has, where none is named: the agent is gone", async () => {
      expect(await leader.do(giveBack())).toEqual([{ kind: "given_back", jobIds: ["one", "two", "three"] }]);
      expect(await leader.do(renewal("l1"), renewal("l2"))).toEqual([{ kind: "unknown" }, { kind: "unknown" }]);
      expect((await leader.book.standing()).counts).toMatchObject({ queued: 3, leased: 1 });
    });
  });

  describe("a job that is cancelled", () => {
    it("is so at once, waiting or leased, and its later result changes nothing", async () => {
      const later = submission("later", { runAt: Date.now() + 3_600_000 });
      await leader.do(submission("leased"), leaseOrder("l1"), submission("ready"), later);
      await leader.do(submission("done"), leaseOrder("l2", { maxTasks: 2 }), result("leased", 9));
      const ids = ["leased", "later", "nobody's"];
      expect(await leader.do(...ids.map((jobId) => ({ kind: "cancel", jobId }) as const))).toEqual([
        { kind: "cancelled" },
        { kind: "cancelled" },
        { kind: "unknown" },
      ]);
      expect(await leader.report("leased", 1)).toEqual({ kind: "stale", expected: 2 });
      expect(await leader.book.job("leased")).toMatchObject({ state: "cancelled", result: null, agent: "ann" });
      expect(await leader.do({ kind: "cancel", jobId: "leased" })).toEqual([{ kind: "cancelled" }]);
      expect((await leader.book.standing()).counts).toMatchObject({ cancelled: 2, leased: 2, queued: 0 });
      await harness.advance(3_700_000);
      expect(await leader.ripen()).toMatchObject({ ripened: 0 });
    });

    it("was not finished: one that is stays as it is", async () => {
      await leader.do(submission("one"), leaseOrder("l1"));
      await leader.report("one", 1);
      expect(await leader.do({ kind: "cancel", jobId: "one" })).toEqual([{ kind: "finished", state: "succeeded" }]);
      expect(await leader.book.job("one")).toMatchObject({ state: "succeeded" });
    });
  });

  describe("a job that is redriven", () => {
    it("has all its attempts again; one that needs no redriving stays as it is", async () => {
      await leader.do(submission("dead", { maxAttempts: 1 }), submission("failed"), submission("cancelled"));
      await leader.do(leaseOrder("l1", { maxTasks: 2 }), submission("queued"), submission("done"));
      const outcome = { kind: "failed_for_good", error: "no" } as const;
      await leader.do(result("dead", 1, { outcome: failed() }), result("failed", 1, { outcome }), {
        kind: "cancel",
        jobId: "cancelled",
      });
      expect((await leader.book.standing()).counts).toMatchObject({ dead: 1, failed: 1, cancelled: 1, queued: 2 });
      const ids = ["dead", "failed", "cancelled", "queued", "nobody's"];
      expect(await leader.do(...ids.map((jobId) => ({ kind: "redrive", jobId }) as const))).toEqual([
        { kind: "redriven" },
        { kind: "redriven" },
        { kind: "redriven" },
        { kind: "unneeded", state: "queued" },
        { kind: "unknown" },
      ]);
      expect(await leader.book.job("dead")).toMatchObject({ state: "queued", attempts: 0, jobEpoch: 1, error: "boom" });
      expect((await leader.book.standing()).counts).toMatchObject({ dead: 0, failed: 0, cancelled: 0, queued: 5 });
      expect(await leader.take("l2", { maxTasks: 3 })).toMatchObject([
        { jobId: "dead", jobEpoch: 2, attempt: 1 },
        { jobId: "failed", jobEpoch: 2 },
        { jobId: "cancelled", jobEpoch: 1 },
      ]);
    });
  });

  describe("an agent", () => {
    it("is known by its heartbeats, and its silence by the database's clock", async () => {
      const told = { capabilities: ["gpu"], version: "1.2", tasks: 3, namespace: "billing" };
      expect(await leader.do(heartbeat("ann", told), heartbeat("ben"))).toEqual([{ kind: "seen" }, { kind: "seen" }]);
      await harness.advance(10_000);
      await leader.do(heartbeat("ben", { tasks: 1, registers: false }));
      const [ann, ben] = await leader.book.agents();
      expect(ann).toMatchObject({ name: "ann", ...told, deletedAt: null });
      expect(ann?.silentMs).toBeGreaterThanOrEqual(10_000);
      expect(ben).toMatchObject({ name: "ben", tasks: 1 });
      expect(ben?.silentMs).toBeLessThan(9_000);
      expect((ben?.lastHeartbeat ?? 0) - (ben?.firstSeen ?? 0)).toBeGreaterThanOrEqual(9_990);
    });

    it("that was deleted gets nothing until it registers anew", async () => {
      await leader.do(submission("one"), heartbeat("ann"), leaseOrder("l1"));
      expect(
        await leader.do({ kind: "remove_agent", agent: "ann" }, giveBack(), { kind: "remove_agent", agent: "zoe" }),
      ).toEqual([{ kind: "removed" }, { kind: "given_back", jobIds: ["one"] }, { kind: "unknown" }]);
      expect(await leader.do(heartbeat("ann", { registers: false }), leaseOrder("l2"))).toEqual([
        { kind: "deleted" },
        { kind: "deleted" },
      ]);
      expect(await leader.book.agents()).toMatchObject([{ name: "ann", deletedAt: expect.any(Number) }]);
      expect(await leader.do(heartbeat("ann"), leaseOrder("l3"))).toMatchObject([{ kind: "seen" }, { kind: "leased" }]);
      expect(await eventsOf(leader.book)).toEqual([
        "job.queued one",
        "agent.registered ann",
        "job.leased one ann",
        "job.queued one ann",
        "agent.deleted ann",
        "agent.registered ann",
        "job.leased one ann",
      ]);
    });
  });
});
