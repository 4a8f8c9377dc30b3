import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { JobScene, jobFence, submission, wish } from "../../test/support/job-scene.js";
import { HoldfastError, NotLeaderError } from "../errors.js";
import type { JobOrder, LeaseAnswer } from "../store/job-orders.js";
import { JobDesk } from "./job-desk.js";

/** A signal of its own for everybody who waits. */
const never = (): AbortSignal => new AbortController().signal;
const ttlMs = 60_000;

describe("the leader's desk", () => {
  let scene: JobScene;
  let desk: JobDesk;
  let running: Promise<void>;
  const troubles: string[] = [];
  let commits = 0;

  const open = (): void => {
    const { book, clock } = scene;
    commits = 0;
    desk = new JobDesk({
      book,
      fence: jobFence,
      clock,
      leaseTtlMs: ttlMs,
      trouble: (what) => troubles.push(what),
      committed: () => {
        commits += 1;
      },
    });
    running = desk.run();
    running.catch(() => undefined); // Looked at by the tests that end it so.
  };

  beforeEach(async () => {
    scene = new JobScene();
    troubles.length = 0;
    open();
    await scene.clock.advance(0);
  });

  afterEach(async () => {
    desk.end(new NotLeaderError("over"));
    await scene.clock.advance(0);
    await running.catch(() => undefined);
  });

  const tasksOf = (answer: LeaseAnswer): readonly string[] =>
    answer.kind === "leased" ? answer.tasks.map(({ jobId }) => jobId) : [];
  const stateOf = async (jobId: string) => (await scene.book.job(jobId))?.state;
  /** Holds every message up until the answer is called. */
  const hold = (): { release: () => void } => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    scene.before = async () => await held;
    return {
      release: () => {
        scene.before = async () => await Promise.resolve();
        release();
      },
    };
  };

  it("gathers the beats of many agents for a second: together they cost what one does", async () => {
    const beat = { kind: "heartbeat", namespace: "default", capabilities: [], version: null, tasks: 0 } as const;
    const registered = desk.carryOut({ ...beat, agent: "a", registers: true });
    await scene.clock.advance(0);
    expect(await registered).toEqual({ kind: "seen" });
    const beats = ["a", "a", "a"].map((agent) => desk.carryOut({ ...beat, agent, registers: false }));
    await scene.clock.advance(999);
    expect(scene.kinds).toEqual([["heartbeat"]]);
    await scene.clock.advance(1);
    expect(await Promise.all(beats)).toHaveLength(3);
    expect(scene.kinds).toEqual([["heartbeat"], ["heartbeat", "heartbeat", "heartbeat"]]);
  });

  it("sends no beat only because a transaction has ended: slow ones would make as many as there are beats", async () => {
    const beat = { kind: "heartbeat", namespace: "default", capabilities: [], version: null, tasks: 0 } as const;
    const held = hold();
    const job = desk.carryOut(submission("job"));
    await scene.clock.advance(0);
    const seen = desk.carryOut({ ...beat, agent: "a", registers: false });
    held.release();
    await Promise.all([job, scene.clock.advance(500)]);
    expect(scene.kinds).toEqual([["submit"]]);
    await Promise.all([seen, scene.clock.advance(500)]);
    expect(scene.kinds).toEqual([["submit"], ["heartbeat"]]);
  });

  it("carries out in one transaction what came in while the one before it committed", async () => {
    const held = hold();
    const first = desk.carryOut(submission("first"));
    await scene.clock.advance(0);
    const rest = ["a", "b", "c"].map((jobId) => desk.carryOut(submission(jobId)));
    await scene.clock.advance(0);
    expect(scene.kinds).toEqual([["submit"]]);
    held.release();
    expect(await first).toMatchObject({ kind: "created", jobId: "first" });
    expect((await Promise.all(rest)).map(({ jobId }) => jobId)).toEqual(["a", "b", "c"]);
    expect(scene.kinds).toEqual([["submit"], ["submit", "submit", "submit"]]);
    await scene.clock.advance(0);
    expect(commits).toBe(2);
  });

  it("sends the next transaction before the last has committed where much waits, and no third", async () => {
    const many = (name: string) => Array.from({ length: 256 }, (_, n) => submission(`${name}-${n}`));
    const held = hold();
    const begun = desk.carryOut(submission("begun"));
    await scene.clock.advance(0);
    const few = desk.carryOut(submission("few"));
    await scene.clock.advance(0);
    expect(scene.applied).toHaveLength(1);
    const calls = ["a", "b"].map((name) => desk.carryOutAll(many(name)));
    await scene.clock.advance(0);
    expect(scene.kinds.map(({ length }) => length)).toEqual([1, 513]);
    const rest = desk.carryOutAll(many("d"));
    await scene.clock.advance(0);
    expect(scene.applied).toHaveLength(2);
    held.release();
    await scene.clock.advance(0);
    const answers = [...(await Promise.all([...calls, rest])), [await begun, await few]];
    expect(answers.map((each) => new Set(each.map(({ kind }) => kind)))).toEqual(
      answers.map(() => new Set(["created"])),
    );
    expect(scene.applied).toHaveLength(3);
  });

  it("does not forget what is due, whichever of two answers comes first", async () => {
    const many = (rest: Parameters<typeof submission>[1]) =>
      Array.from({ length: 256 }, (_, n) => submission(`${rest?.namespace}-${n}`, rest));
    const answers: (() => void)[] = [];
    scene.after = async () => await new Promise<void>((resolve) => answers.push(resolve));
    const first = desk.carryOutAll(many({ namespace: "now" }));
    await scene.clock.advance(0);
    const second = desk.carryOutAll(many({ namespace: "later", runAt: scene.clock.wall() + 5_000 }));
    await scene.clock.advance(0);
    expect(answers).toHaveLength(2);
    scene.after = async () => await Promise.resolve();
    for (const answer of answers.toReversed()) {
      answer();
      await scene.clock.advance(0);
    }
    await Promise.all([first, second]);
    const polled = desk.lease(wish("agent", { namespace: "later" }), 100_000, never());
    await scene.clock.advance(5_000);
    expect(tasksOf(await polled)).toHaveLength(1);
  });

  it("refuses a whole call where one of its orders is refused, and carries the others out", async () => {
    scene.before = async (orders) => {
      if (orders.some((order) => order.kind === "submit" && order.jobId === "bad"))
        await Promise.reject(new HoldfastError("DATABASE_REFUSED", "no"));
    };
    const call = desk.carryOutAll(["a", "bad", "b"].map((jobId) => submission(jobId)));
    await Promise.all([expect(call).rejects.toMatchObject({ code: "DATABASE_REFUSED" }), scene.clock.advance(0)]);
    expect([await stateOf("a"), await stateOf("bad"), await stateOf("b")]).toEqual(["queued", undefined, "queued"]);
  });

  it("serves an agent that waits by the transaction that takes its job in", async () => {
    const polled = desk.lease(wish("agent-1"), 30_000, never());
    await scene.clock.advance(0);
    expect(desk.waiting).toBe(1);
    await Promise.all([desk.carryOut(submission("job")), scene.clock.advance(0)]);
    expect(tasksOf(await polled)).toEqual(["job"]);
    expect(scene.kinds).toEqual([["lease"], ["submit", "lease"]]);
    expect(desk.waiting).toBe(0);
  });

  it("asks the database nothing for agents that wait and for whom nothing came", async () => {
    const polls = Array.from({ length: 20 }, (_, n) => desk.lease(wish(`agent-${n}`), 100_000, never()));
    await scene.clock.advance(0);
    const before = scene.applied.length;
    await scene.clock.advance(59_000);
    await Promise.all([desk.carryOut(submission("elsewhere", { namespace: "other" })), scene.clock.advance(0)]);
    expect(scene.kinds.slice(before)).toEqual([["submit"]]);
    await scene.clock.advance(41_000);
    // Once a minute it is looked for all of them together: should one have been forgotten, it is not for ever.
    expect(scene.kinds.slice(before + 1)).toEqual([polls.map(() => "lease")]);
    expect(await Promise.all(polls)).toEqual(polls.map(() => ({ kind: "none" })));
  });

  it("hands out to whoever waits a job whose time has come when it is submitted", async () => {
    const polled = desk.lease(wish("agent-1"), 30_000, never());
    await scene.clock.advance(0);
    await Promise.all([desk.carryOut(submission("job", { runAt: 1 })), scene.clock.advance(0)]);
    await scene.clock.advance(0);
    expect(tasksOf(await polled)).toEqual(["job"]);
  });

  it("hands out what came due where nobody heard that it did", async () => {
    await Promise.all([
      desk.carryOut(submission("job", { runAt: scene.clock.wall() + 1_000 })),
      scene.clock.advance(0),
    ]);
    const polled = desk.lease(wish("agent-1"), 30_000, never());
    await scene.clock.advance(0);
    let lost = 1;
    scene.afterRipening = async () => {
      lost -= 1;
      if (lost === 0) await Promise.reject(new HoldfastError("UNKNOWN_OUTCOME", "the reply was lost"));
    };
    await scene.clock.advance(1_100);
    expect(lost).toBeLessThan(0);
    expect(tasksOf(await polled)).toEqual(["job"]);
  });

  it("goes on with everything else where the database refuses to ripen", async () => {
    await Promise.all([
      desk.carryOut(submission("due", { runAt: scene.clock.wall() + 1_000 })),
      scene.clock.advance(0),
    ]);
    scene.beforeRipening = async () => await Promise.reject(new HoldfastError("DATABASE_REFUSED", "statement timeout"));
    await scene.clock.advance(1_100);
    const before = scene.ripened.length;
    const polled = desk.lease(wish("agent-1"), 30_000, never());
    await Promise.all([desk.carryOut(submission("job")), scene.clock.advance(0)]);
    expect(tasksOf(await polled)).toEqual(["job"]);
    await scene.clock.advance(30_000);
    expect(scene.ripened.length - before).toBeLessThan(8);
    scene.beforeRipening = async () => await Promise.resolve();
    const [due] = await Promise.all([desk.lease(wish("agent-1"), 30_000, never()), scene.clock.advance(6_000)]);
    expect(tasksOf(due)).toEqual(["due"]);
  });

  it("says of what may have been committed, and was refused when it was asked for again, that it is not known", async () => {
    let attempts = 0;
    scene.after = async () => {
      attempts += 1;
      if (attempts === 1) await Promise.reject(new HoldfastError("UNKNOWN_OUTCOME", "the reply was lost"));
      else await Promise.reject(new HoldfastError("DATABASE_REFUSED", "the disk is full"));
    };
    const submitted = desk.carryOut(submission("job"));
    const told = expect(submitted).rejects.toMatchObject({ code: "UNKNOWN_OUTCOME" });
    await Promise.all([told, scene.clock.advance(100)]);
  });

  it("says that it is not known where some of a call were done one by one before the term ended", async () => {
    scene.before = async (orders) => {
      if (orders.length > 1) await Promise.reject(new HoldfastError("DATABASE_REFUSED", "no"));
      const [order] = orders;
      if (order?.kind === "submit" && order.jobId === "b")
        await Promise.reject(new HoldfastError("STALE_EPOCH", "8 leads"));
    };
    const submitted = desk.carryOutAll([submission("a"), submission("b")]);
    const told = expect(submitted).rejects.toMatchObject({ code: "UNKNOWN_OUTCOME" });
    await Promise.all([told, scene.clock.advance(0)]);
    await expect(running).rejects.toMatchObject({ code: "STALE_EPOCH" });
    expect(await stateOf("a")).toBe("queued");
  });

  it("goes on where the database can only be read for a while", async () => {
    let refusals = 2;
    scene.before = async () => {
      if (refusals === 0) return;
      refusals -= 1;
      await Promise.reject(new HoldfastError("DATABASE_READ_ONLY", "read only"));
    };
    const submitted = desk.carryOut(submission("job", { runAt: scene.clock.wall() + 1_000 }));
    await scene.clock.advance(100);
    expect((await submitted).kind).toBe("created");
    const polled = desk.lease(wish("agent-1"), 30_000, never());
    await scene.clock.advance(1_100);
    expect(tasksOf(await polled)).toEqual(["job"]);
  });

  it("looks once for an agent that does not want to wait", async () => {
    await Promise.all([desk.carryOut(submission("job")), scene.clock.advance(0)]);
    const [got] = await Promise.all([desk.lease(wish("agent-1"), 0, never()), scene.clock.advance(0)]);
    expect(tasksOf(got)).toEqual(["job"]);
    const [none] = await Promise.all([desk.lease(wish("agent-1"), 0, never()), scene.clock.advance(0)]);
    expect(none).toEqual({ kind: "none" });
  });

  it("finds an agent for each of many jobs that come at once, more than are matched together", async () => {
    const polls = Array.from({ length: 400 }, (_, n) => desk.lease(wish(`agent-${n}`), 100_000, never()));
    await scene.clock.advance(0);
    const jobs = Array.from({ length: 400 }, (_, n) => desk.carryOut(submission(`job-${n}`)));
    await scene.clock.advance(0);
    await Promise.all(jobs);
    expect(new Set((await Promise.all(polls)).flatMap(tasksOf)).size).toBe(400);
  });

  it("finds another agent for a job whose agent took a more urgent one", async () => {
    const able = desk.lease(wish("able", { capabilities: ["gpu"] }), 100_000, never());
    const plain = desk.lease(wish("plain"), 100_000, never());
    await scene.clock.advance(0);
    const jobs = [submission("easy"), submission("hard", { capabilities: ["gpu"], priority: 3 })];
    await Promise.all([...jobs.map((job) => desk.carryOut(job)), scene.clock.advance(0)]);
    expect([tasksOf(await able), tasksOf(await plain)]).toEqual([["hard"], ["easy"]]);
  });

  it("leases nothing to an agent that has gone, and gives back what was leased when it went", async () => {
    const early = new AbortController();
    const gone = desk.lease(wish("gone"), 100_000, early.signal);
    await scene.clock.advance(0);
    early.abort();
    expect(await gone).toEqual({ kind: "none" });

    const late = new AbortController();
    const held = hold();
    const polled = desk.lease(wish("late"), 100_000, late.signal);
    const submitted = desk.carryOut(submission("job"));
    await scene.clock.advance(0);
    late.abort();
    held.release();
    await scene.clock.advance(0);
    await Promise.all([polled, submitted]);
    expect(scene.kinds.at(-1)).toEqual(["give_back"]);
    expect(await scene.book.job("job")).toMatchObject({ state: "queued", attempts: 0, jobEpoch: 1 });
  });

  it("hands what was given back to another who waits", async () => {
    await Promise.all([desk.carryOut(submission("job")), scene.clock.advance(0)]);
    await Promise.all([desk.lease(wish("agent-1"), 0, never()), scene.clock.advance(0)]);
    const waiting = desk.lease(wish("agent-2"), 100_000, never());
    await scene.clock.advance(0);
    void desk.carryOut({ kind: "give_back", agent: "agent-1", leaseId: null, jobIds: null });
    await scene.clock.advance(0);
    expect(tasksOf(await waiting)).toEqual(["job"]);
  });

  it("hands out what waited when it is due, and what an agent kept too long", async () => {
    await Promise.all([
      desk.carryOut(submission("later", { runAt: scene.clock.wall() + 5_000 })),
      scene.clock.advance(0),
    ]);
    const first = desk.lease(wish("silent"), 100_000, never());
    await scene.clock.advance(4_999);
    expect(desk.waiting).toBe(1);
    await scene.clock.advance(1);
    expect(tasksOf(await first)).toEqual(["later"]);
    const second = desk.lease(wish("other"), 100_000, never());
    await scene.clock.advance(ttlMs);
    expect(tasksOf(await second)).toEqual(["later"]);
  });

  it("asks again, with the same words, for what it does not know to be done, and does nothing twice", async () => {
    let lost = 2;
    scene.after = async () => {
      if (lost === 0) return;
      lost -= 1;
      await Promise.reject(new HoldfastError("UNKNOWN_OUTCOME", "the reply was lost"));
    };
    const submitted = desk.carryOut(submission("job"));
    const polled = desk.lease(wish("agent-1"), 100_000, never());
    await scene.clock.advance(100);
    expect((await submitted).jobId).toBe("job");
    expect(tasksOf(await polled)).toEqual(["job"]);
    expect(scene.applied).toHaveLength(3);
    expect(new Set(scene.applied.map((orders) => JSON.stringify(orders))).size).toBe(1);
    expect(await scene.book.job("job")).toMatchObject({ jobEpoch: 1, attempts: 1 });
    expect(troubles).toHaveLength(1);
  });

  it("refuses only the order that the database refuses", async () => {
    const isBad = (order: JobOrder): boolean => order.kind === "submit" && order.jobId === "bad";
    scene.before = async (orders) => {
      if (orders.some(isBad)) await Promise.reject(new HoldfastError("DATABASE_REFUSED", "no"));
    };
    const orders = ["a", "bad", "b"].map((jobId) => desk.carryOut(submission(jobId)));
    const [settled] = await Promise.all([Promise.allSettled(orders), scene.clock.advance(0)]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect([await stateOf("a"), await stateOf("bad"), await stateOf("b")]).toEqual(["queued", undefined, "queued"]);
  });

  it("takes only endings while it drains, and sends those who wait elsewhere", async () => {
    await Promise.all([desk.carryOut(submission("job")), scene.clock.advance(0)]);
    const [lease] = await Promise.all([desk.lease(wish("agent-1"), 0, never()), scene.clock.advance(0)]);
    const waiting = desk.lease(wish("agent-2"), 100_000, never());
    await scene.clock.advance(0);
    desk.drain();
    await expect(waiting).rejects.toMatchObject({ code: "DRAINING" });
    await expect(desk.lease(wish("agent-3"), 0, never())).rejects.toMatchObject({ code: "DRAINING" });
    await expect(desk.carryOut(submission("new"))).rejects.toMatchObject({ code: "DRAINING" });
    const leaseId = lease.kind === "leased" ? lease.leaseId : "";
    const told = { jobId: "job", jobEpoch: 1, leaseId, agent: "agent-1" };
    const reported = desk.carryOut({ kind: "result", ...told, outcome: { kind: "succeeded", result: 1 } });
    await scene.clock.advance(0);
    expect(await reported).toEqual({ kind: "accepted", state: "succeeded", repeated: false });
  });

  it("hands over what was on its way when it began to drain", async () => {
    const held = hold();
    const served = desk.lease(wish("agent-1"), 100_000, never());
    const unserved = desk.lease(wish("agent-2"), 100_000, never());
    const submitted = desk.carryOut(submission("job"));
    await scene.clock.advance(0);
    desk.drain();
    held.release();
    await Promise.all([expect(unserved).rejects.toMatchObject({ code: "DRAINING" }), scene.clock.advance(0)]);
    await submitted;
    expect(tasksOf(await served)).toEqual(["job"]);
  });

  it("refuses everything when its term is over, also what it was trying again", async () => {
    scene.before = async () => await Promise.reject(new HoldfastError("DATABASE_AWAY", "away"));
    const tried = desk.carryOut(submission("tried"));
    await scene.clock.advance(0);
    const pending = desk.carryOut(submission("pending"));
    const waiting = desk.lease(wish("agent-1"), 100_000, never());
    desk.end(new NotLeaderError("over"));
    for (const refused of [tried, pending, waiting, desk.carryOut(submission("late"))]) {
      await expect(refused).rejects.toThrow("over");
    }
    await scene.clock.advance(0);
    await expect(running).rejects.toThrow("over");
  });

  it("does not send a caller elsewhere whose order may have been committed: he would have it done twice", async () => {
    scene.after = async () => await Promise.reject(new HoldfastError("UNKNOWN_OUTCOME", "the reply was lost"));
    const submitted = desk.carryOut(submission("job"));
    const told = expect(submitted).rejects.toMatchObject({ code: "UNKNOWN_OUTCOME" });
    await scene.clock.advance(0);
    scene.before = async () => await Promise.reject(new HoldfastError("STALE_EPOCH", "8 leads"));
    await Promise.all([told, scene.clock.advance(100)]);
    await expect(running).rejects.toMatchObject({ code: "STALE_EPOCH" });
    expect(await stateOf("job")).toBe("queued");
  });

  it("ends when the database refuses its epoch, and sends its callers to whoever leads", async () => {
    scene.before = async () => await Promise.reject(new HoldfastError("STALE_EPOCH", "8 leads"));
    const refused = desk.carryOut(submission("job"));
    await Promise.all([expect(refused).rejects.toMatchObject({ code: "NOT_LEADER" }), scene.clock.advance(0)]);
    await expect(running).rejects.toMatchObject({ code: "STALE_EPOCH" });
  });
});
