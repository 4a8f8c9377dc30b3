import { createHash } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { StaleEpochError } from "../../src/errors.js";
import { jobLimits } from "../../src/jobs/new-job.js";
import { memoryHarness, type Player, postgresHarness, type StoreHarness } from "./harness.js";
import {
  done,
  eventsOf,
  failed,
  heartbeat,
  JobLeader,
  leaseOrder,
  openJobsForEach,
  result,
  submission,
} from "./job-leader.js";

/** Submitting, leasing and reporting: what both stores keep, whoever leads the jobs on them. */
describe.each([
  ["memory", memoryHarness],
  ["postgres", postgresHarness],
] as const)("the jobs of the %s store", (_name, makeHarness) => {
  let harness: StoreHarness;
  let player: Player;
  let leader: JobLeader;

  openJobsForEach(makeHarness, (opened) => {
    ({ harness, player, leader } = opened);
  });

  it("refuse every write of a deposed epoch, and nothing of it is left", async () => {
    const { book, fence } = leader;
    await leader.do(
      submission("one"),
      submission("two"),
      heartbeat("ann"),
      leaseOrder("l1", { maxTasks: 1, ttlMs: 1 }),
    );
    await player.release(fence.epoch);
    await player.lead();
    await harness.advance(1_000);
    const look = async () => [await book.jobs({}, { limit: 9 }), (await book.standing()).counts, await eventsOf(book)];
    const before = await look();
    const everything = { jobsOlderThanMs: 0, eventsOlderThanMs: 0, agentsOlderThanMs: 0, from: 0, limit: 100 };
    const writes = [
      () =>
        book.apply(fence, [submission("late"), leaseOrder("l2"), result("one", 1), { kind: "cancel", jobId: "two" }]),
      () => book.ripen(fence, 100),
      () => book.compact(fence, { states: ["succeeded"], ...everything }),
    ];
    for (const write of writes) await expect(write()).rejects.toBeInstanceOf(StaleEpochError);
    expect(await look()).toEqual(before);
    expect(await book.agents()).toHaveLength(1);
  });

  it("go on under the next epoch: a lease survives its leader", async () => {
    await leader.do(submission("one"), leaseOrder("l1"));
    await player.release(leader.fence.epoch);
    const next = await JobLeader.elect(player);
    expect(await next.report("one", 1)).toEqual({ kind: "accepted", state: "succeeded", repeated: false });
    expect(await next.book.job("one")).toMatchObject({ leaderEpoch: next.fence.epoch });
  });

  it("answer each order in its place, and hand out in the same commit what has come free", async () => {
    await leader.do(submission("a"), submission("b"), leaseOrder("l1", { maxTasks: 1 }));
    const answers = await leader.do(
      leaseOrder("l2"),
      submission("c"),
      { kind: "cancel", jobId: "nobody's" },
      { kind: "give_back", agent: "ann", leaseId: "l1", jobIds: null },
      submission("a"),
    );
    expect(answers).toMatchObject([
      { kind: "leased", tasks: [{ jobId: "a", jobEpoch: 2, attempt: 1 }, { jobId: "b" }, { jobId: "c" }] },
      { kind: "created", jobId: "c" },
      { kind: "unknown" },
      { kind: "given_back", jobIds: ["a"] },
      { kind: "existing", jobId: "a", state: "queued", same: true },
    ]);
  });

  describe("a submission", () => {
    it("is there as it was sent, whatever JSON it carries", async () => {
      const payload = { "": 'qu"ote\\ ☃ $hf$', zero: "\0", half: "\ud800", deep: [[[{ n: 1e-7 }]]], none: null };
      const tick = Date.UTC(2026, 9, 25, 1);
      const answer = await leader.submit("one", {
        op: "report",
        namespace: "billing",
        payload,
        priority: 3,
        capabilities: ["pdf", "gpu", "pdf"],
        pinnedAgent: "ann",
        timeoutMs: 5_000,
        maxAttempts: 7,
        idempotencyKey: "k",
        cron: "nightly",
        tick,
      });
      expect(answer).toEqual({ kind: "created", jobId: "one", jobEpoch: 0, state: "queued", same: true });
      const job = await leader.book.job("one");
      expect(job).toEqual({
        jobId: "one",
        n: 1,
        op: "report",
        namespace: "billing",
        payload,
        state: "queued",
        priority: 3,
        capabilities: ["gpu", "pdf"],
        pinnedAgent: "ann",
        waitsUntil: null,
        timeoutMs: 5_000,
        attempts: 0,
        maxAttempts: 7,
        jobEpoch: 0,
        leaderEpoch: leader.fence.epoch,
        leaseId: null,
        agent: null,
        progress: null,
        result: null,
        error: null,
        idempotencyKey: "k",
        cron: "nightly",
        tick,
        createdAt: expect.any(Number),
        updatedAt: job?.createdAt,
      });
      expect(Math.abs((job?.createdAt ?? 0) - Date.now())).toBeLessThan(60_000);
    });

    it("asked for again by its id is not done again, and says whether it is the same", async () => {
      await leader.do(submission("one"), leaseOrder("l1"));
      const again = { kind: "existing", jobId: "one", jobEpoch: 1, state: "leased" };
      expect(await leader.submit("one")).toEqual({ ...again, same: true });
      expect(await leader.submit("one", { payload: { of: "another" } })).toEqual({ ...again, same: false });
      expect(await leader.submit("one", { op: "subtract" })).toEqual({ ...again, same: false });
      expect((await leader.book.standing()).counts).toMatchObject({ queued: 0, leased: 1 });
    });

    it("is one for each key in a namespace, also within one message", async () => {
      const keyed = { idempotencyKey: "k", payload: 1 };
      const answers = await leader.do(
        submission("one", keyed),
        submission("two", keyed),
        submission("three", { ...keyed, namespace: "other" }),
        submission("four", { ...keyed, payload: 2 }),
        submission("five"),
        submission("five"),
      );
      expect(answers).toMatchObject([
        { kind: "created", jobId: "one" },
        { kind: "existing", jobId: "one", same: true },
        { kind: "created", jobId: "three" },
        { kind: "existing", jobId: "one", same: false },
        { kind: "created", jobId: "five" },
        { kind: "existing", jobId: "five", same: true },
      ]);
      expect(await leader.submit("six", keyed)).toMatchObject({ kind: "existing", jobId: "one" });
      expect((await leader.book.jobs({}, { limit: 9 })).jobs.map(({ jobId }) => jobId)).toEqual([
        "five",
        "three",
        "one",
      ]);
    });

    it("for later is handed out when its time has come, by the database's clock", async () => {
      const runAt = Date.now() + 30_000;
      const { nextDueMs } = await leader.book.apply(leader.fence, [
        submission("one", { runAt }),
        submission("two", { runAt: 1 }),
      ]);
      expect(nextDueMs).toBeGreaterThan(25_000);
      expect(nextDueMs).toBeLessThanOrEqual(30_000);
      expect(await leader.takeIds("l1")).toEqual(["two"]);
      expect((await leader.ripen()).ripened).toBe(0);
      await harness.advance(31_000);
      expect(await leader.takeIds("l2")).toEqual([]);
      expect((await leader.ripen()).ripened).toBe(1);
      expect(await leader.takeIds("l2")).toEqual(["one"]);
    });
  });

  describe("a lease", () => {
    it("takes the highest priority first, and within it the oldest", async () => {
      const orders = [1, 0, 3, 1, 3, 2].map((priority, index) => submission(`j${index}`, { priority }));
      await leader.do(...orders);
      expect(await leader.takeIds("l1", { maxTasks: 4 })).toEqual(["j2", "j4", "j5", "j0"]);
      expect(await leader.takeIds("l2", { maxTasks: 4 })).toEqual(["j3", "j1"]);
      expect(await leader.lease("l3")).toEqual({ kind: "none" });
    });

    it("finds also what asks for as much as a job may ask for", async () => {
      const hashed = (text: string, length: number): string =>
        [0, 1, 2, 3]
          .map((n) => createHash("sha256").update(`${text}${n}`).digest("hex"))
          .join("")
          .slice(0, length);
      const capabilities = Array.from({ length: jobLimits.capabilities }, (_, n) =>
        hashed(`${n}`, jobLimits.capabilitiesLength / jobLimits.capabilities),
      );
      const demand = { namespace: hashed("namespace", 200), pinnedAgent: hashed("agent", 200), capabilities };
      expect(await leader.submit("most", demand)).toMatchObject({ kind: "created" });
      const { namespace, pinnedAgent: agent } = demand;
      expect(await leader.takeIds("l1", { namespace, agent, capabilities })).toEqual(["most"]);
    });

    it("takes what its agent may: its namespace, its capabilities, and nobody else's own", async () => {
      await leader.do(
        submission("gpu", { capabilities: ["gpu"], priority: 3 }),
        submission("both", { capabilities: ["gpu", "pdf"] }),
        submission("ben's", { pinnedAgent: "ben", priority: 3 }),
        submission("billing", { namespace: "billing" }),
        submission("plain"),
      );
      expect(await leader.takeIds("l1")).toEqual(["plain"]);
      expect(await leader.takeIds("l2", { capabilities: ["pdf"] })).toEqual([]);
      expect(await leader.takeIds("l3", { capabilities: ["pdf", "x", "gpu"], maxTasks: 1 })).toEqual(["gpu"]);
      expect(await leader.takeIds("l4", { capabilities: ["pdf", "gpu"] })).toEqual(["both"]);
      expect(await leader.takeIds("l5", { agent: "ben" })).toEqual(["ben's"]);
      expect(await leader.takeIds("l6", { namespace: "billing" })).toEqual(["billing"]);
    });

    it("tells what is to be done, raises the epoch, counts the attempt, and ends by the database's clock", async () => {
      await leader.submit("one", { timeoutMs: 9_000 });
      const answer = await leader.lease("l1", { ttlMs: 20_000 });
      const task = { jobId: "one", jobEpoch: 1, op: "add", payloadText: '{"of":"one"}', namespace: "default" };
      const limits = { attempt: 1, maxAttempts: 3, timeoutMs: 9_000 };
      const expiresAt = expect.any(Number);
      expect(answer).toEqual({ kind: "leased", leaseId: "l1", expiresAt, tasks: [{ ...task, ...limits }] });
      const inMs = answer.kind === "leased" ? answer.expiresAt - Date.now() : 0;
      expect(Math.abs(inMs - 20_000)).toBeLessThan(10_000);
      expect(await leader.book.job("one")).toMatchObject({
        state: "leased",
        agent: "ann",
        leaseId: "l1",
        jobEpoch: 1,
        attempts: 1,
      });
    });

    it("asked for again under its id answers alike and takes nothing more; another agent is refused", async () => {
      await leader.do(submission("one"), submission("two"));
      const first = await leader.lease("l1");
      await leader.submit("three", { priority: 3 });
      const again = await leader.lease("l1");
      expect(again).toEqual({ ...first, expiresAt: expect.closeTo(first.kind === "leased" ? first.expiresAt : 0, 0) });
      expect(await leader.lease("l1", { agent: "ben" })).toEqual({ kind: "foreign" });
      await leader.report("one", 1);
      expect(await leader.takeIds("l1")).toEqual(["two"]);
      expect(await leader.takeIds("l2")).toEqual(["three"]);
    });

    it("is for nobody else: many in one message share what there is", async () => {
      await leader.do(...["a", "b", "c"].map((jobId) => submission(jobId)));
      const leases = ["l1", "l2", "l3"].map((leaseId) => leaseOrder(leaseId, { maxTasks: 2, agent: leaseId }));
      expect(await leader.do(...leases, leaseOrder("l1", { agent: "l1" }))).toMatchObject([
        { kind: "leased", tasks: [{ jobId: "a" }, { jobId: "b" }] },
        { kind: "leased", tasks: [{ jobId: "c" }] },
        { kind: "none" },
        { kind: "leased", tasks: [{ jobId: "a" }, { jobId: "b" }] },
      ]);
    });

    it("hands out payloads of every kind as they were sent", async () => {
      const deep = { deep: ["\u00fc", "\u{1f600}", '"\\', "\u001e", "\n\u007f\u2028", [], {}] };
      const payloads = [null, "", "\u001e,\u001e", 1.5, -0.1e-7, true, [1, [deep]], deep, "x".repeat(5_000), {}];
      await leader.do(...payloads.map((payload, n) => submission(`job-${n}`, { payload })));
      const tasks = await leader.take("l1");
      expect(tasks.map(({ payloadText }) => JSON.parse(payloadText) as unknown)).toEqual(payloads);
      expect(tasks.map(({ payloadText }) => payloadText)).toEqual(payloads.map((payload) => JSON.stringify(payload)));
    });
  });

  describe("a result", () => {
    beforeEach(async () => {
      await leader.do(submission("one"), leaseOrder("l1"));
    });

    it("that tells of a success ends the job", async () => {
      const outcome = done({ sum: 3, zero: "\0" });
      expect(await leader.report("one", 1, { outcome })).toEqual({
        kind: "accepted",
        state: "succeeded",
        repeated: false,
      });
      expect(await leader.book.job("one")).toMatchObject({
        state: "succeeded",
        result: { sum: 3, zero: "\0" },
        error: null,
        agent: "ann",
        leaseId: null,
      });
      expect((await leader.book.standing()).nextDueMs).toBeNull();
    });

    it("is accepted once and told so again, also twice in one message and after the next lease", async () => {
      const outcome = failed();
      const twice = await leader.do(result("one", 1, { outcome }), result("one", 1, { outcome: failed("again") }));
      expect(twice).toEqual([
        { kind: "accepted", state: "queued", repeated: false },
        { kind: "accepted", state: "queued", repeated: true },
      ]);
      expect(await leader.book.job("one")).toMatchObject({ attempts: 1, error: "boom" });
      await harness.advance(11_000);
      await leader.ripen();
      await leader.lease("l2");
      expect(await leader.report("one", 1, { outcome })).toEqual({ kind: "accepted", state: "leased", repeated: true });
      expect(await leader.report("one", 2, { leaseId: "l2" })).toMatchObject({ repeated: false });
      expect(await leader.report("one", 2, { leaseId: "l2" })).toEqual({
        kind: "accepted",
        state: "succeeded",
        repeated: true,
      });
      expect(await leader.report("one", 2, { leaseId: "l2", outcome })).toEqual({ kind: "stale", expected: 3 });
    });

    it("of a failure is tried again after a pause that doubles up to its cap, and then the job is dead", async () => {
      for (const [attempt, waitMs] of [
        [1, 10_000],
        [2, 20_000],
      ] as const) {
        const leaseId = `l${attempt}`;
        expect(await leader.report("one", attempt, { leaseId, outcome: failed("boom\0") })).toMatchObject({
          state: "queued",
        });
        const job = await leader.book.job("one");
        expect(job).toMatchObject({ state: "queued", agent: null, attempts: attempt });
        expect(Math.abs((job?.waitsUntil ?? 0) - (job?.updatedAt ?? 0) - waitMs)).toBeLessThan(2);
        await harness.advance(waitMs - 5_000);
        expect((await leader.ripen()).ripened).toBe(0);
        await harness.advance(6_000);
        expect((await leader.ripen()).ripened).toBe(1);
        await leader.lease(`l${attempt + 1}`);
      }
      expect(await leader.report("one", 3, { leaseId: "l3", outcome: failed("for the last time") })).toMatchObject({
        state: "dead",
      });
      expect(await leader.book.job("one")).toMatchObject({ state: "dead", error: "for the last time", attempts: 3 });
      expect(await leader.takeIds("l4")).toEqual([]);
    });

    it("of a failure waits less where chance says so, and not at all where nothing is to be waited", async () => {
      await leader.report("one", 1, { outcome: failed("boom", 0.5) });
      const job = await leader.book.job("one");
      expect(Math.abs((job?.waitsUntil ?? 0) - (job?.updatedAt ?? 0) - 9_000)).toBeLessThan(2);
      await leader.do(submission("two"), leaseOrder("l2"));
      const outcome = { kind: "failed", error: "boom", backoff: { firstMs: 0, capMs: 0 }, jitter: 1 } as const;
      const answers = await leader.do(result("two", 1, { leaseId: "l2", outcome }), leaseOrder("l3"));
      expect(answers).toMatchObject([{ state: "queued" }, { kind: "leased", tasks: [{ jobId: "two", jobEpoch: 2 }] }]);
    });

    it("of a failure for good is final, whatever attempts are left", async () => {
      const outcome = { kind: "failed_for_good", error: "no such file" } as const;
      expect(await leader.report("one", 1, { outcome })).toMatchObject({ state: "failed" });
      expect(await leader.book.job("one")).toMatchObject({ state: "failed", error: "no such file", attempts: 1 });
    });

    it("changes nothing where the lease is another's, the epoch is not the lease's, or there is no such job", async () => {
      const before = await leader.book.job("one");
      expect(
        await leader.do(
          result("one", 1, { agent: "ben" }),
          result("one", 1, { leaseId: "l9" }),
          result("one", 0),
          result("one", 2),
          result("two", 1),
        ),
      ).toEqual([
        { kind: "foreign" },
        { kind: "foreign" },
        { kind: "stale", expected: 1 },
        { kind: "stale", expected: 1 },
        { kind: "unknown" },
      ]);
      expect(await leader.book.job("one")).toEqual(before);
    });

    it("that is wrong does not cost the right one in the same message its place", async () => {
      const answers = await leader.do(result("one", 0), result("one", 1, { agent: "ben" }), result("one", 1));
      expect(answers).toMatchObject([{ kind: "stale" }, { kind: "foreign" }, { kind: "accepted", state: "succeeded" }]);
    });

    it("of whoever lost its lease is stale, before and after the next one", async () => {
      await harness.advance(61_000);
      await leader.ripen();
      expect(await leader.report("one", 1)).toEqual({ kind: "stale", expected: 2 });
      await leader.lease("l2", { agent: "ben" });
      expect(await leader.report("one", 1)).toEqual({ kind: "stale", expected: 2 });
      expect(await leader.report("one", 2, { leaseId: "l2", agent: "ben" })).toMatchObject({ kind: "accepted" });
    });
  });
});
