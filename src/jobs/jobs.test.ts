import { describe, expect, it } from "vitest";
import { createJobs } from "../jobs.js";
import type { LeaseAnswer } from "../store/job-orders.js";
import { createTestCluster } from "../testing.js";
import type { Jobs } from "./jobs.js";

/** A signal of its own for everybody who waits. */
const never = (): AbortSignal => new AbortController().signal;
const wish = { agent: "agent-1", namespace: "default", capabilities: [], maxTasks: 4 };

async function led(options: { readonly drainGraceSeconds?: number } = {}) {
  const cluster = createTestCluster();
  const node = await cluster.start({ jobs: options });
  const jobs = createJobs(node);
  await cluster.gain(node, "scheduler");
  const { clock } = cluster;
  /** What comes of it once everything that follows has happened. */
  const settled = async <Result>(doing: Promise<Result>, ms = 0): Promise<Result> => {
    doing.catch(() => undefined);
    await clock.advance(ms);
    return await doing;
  };
  return { cluster, node, jobs, clock, settled };
}

type Led = Awaited<ReturnType<typeof led>>;

async function leased({ jobs, settled }: Led, jobId = "job"): Promise<Extract<LeaseAnswer, { kind: "leased" }>> {
  await settled(jobs.submit([{ op: "resize", jobId }]));
  const lease = await settled(jobs.lease(wish, 0, never()));
  if (lease.kind !== "leased") throw new Error("nothing was leased");
  return lease;
}

const success = (leaseId: string, jobEpoch = 1) =>
  ({ leaseId, jobId: "job", jobEpoch, agent: "agent-1", outcome: { status: "succeeded", result: 42 } }) as const;

describe("the jobs of a node", () => {
  it("go from a submission over a lease to a result, under the leader's epoch", async () => {
    const scene = await led();
    const { jobs, settled } = scene;
    const { leaseId, tasks } = await leased(scene);
    expect(tasks).toMatchObject([{ jobId: "job", jobEpoch: 1, op: "resize", attempt: 1, maxAttempts: 5 }]);
    expect(await settled(jobs.report([success(leaseId)]))).toMatchObject([{ kind: "accepted", repeated: false }]);
    expect(await jobs.book.job("job")).toMatchObject({
      state: "succeeded",
      result: 42,
      leaderEpoch: jobs.requireEpoch(),
    });
  });

  it("tell whoever waits for it that this node leads, and let go of who waits no more", async () => {
    const cluster = createTestCluster();
    const node = await cluster.start({});
    const jobs = createJobs(node);
    let isOpened = false;
    const opened = jobs.opened().then(() => {
      isOpened = true;
    });
    const impatient = new AbortController();
    const given = jobs.opened({ signal: impatient.signal });
    impatient.abort(new Error("enough"));
    await expect(given).rejects.toThrow("enough");
    expect(isOpened).toBe(false);
    await cluster.gain(node, "scheduler");
    await opened;
    expect(jobs.isOpen).toBe(true);
    await jobs.opened();
  });

  it("cost five processes in a row at the most: what fells each that works on it is dead", async () => {
    const scene = await led();
    const { jobs, settled } = scene;
    const { leaseId } = await leased(scene);
    expect(await settled(jobs.forsake("agent-1", leaseId))).toEqual(["job"]);
    for (let process = 2; process <= 5; process += 1) {
      expect(await jobs.book.job("job")).toMatchObject({ state: "queued", attempts: 0 });
      const lease = await settled(jobs.lease(wish, 0, never()));
      if (lease.kind === "leased") await settled(jobs.forsake("agent-1", lease.leaseId));
    }
    const error = "5 nodes in a row died, or fell silent, while they worked on it";
    expect(await jobs.book.job("job")).toMatchObject({ state: "dead", jobEpoch: 5, error });
  });

  it("are tried again after a pause, and not where no attempt would help", async () => {
    const scene = await led();
    const { jobs, settled, clock } = scene;
    const { leaseId } = await leased(scene);
    const failed = (jobEpoch: number, lease: string, retry: boolean) =>
      jobs.report([{ ...success(lease, jobEpoch), outcome: { status: "failed", error: "no", retry } }]);
    expect(await settled(failed(1, leaseId, true))).toMatchObject([{ kind: "accepted", state: "queued" }]);
    const again = jobs.lease(wish, 60_000, never());
    await clock.advance(2_000);
    const second = await again;
    expect(second).toMatchObject({ kind: "leased", tasks: [{ jobEpoch: 2, attempt: 2 }] });
    const lease = second.kind === "leased" ? second.leaseId : "";
    expect(await settled(failed(2, lease, false))).toMatchObject([{ kind: "accepted", state: "failed" }]);
  });

  it("refuse a leader's epoch that does not lead, and change nothing then", async () => {
    const { jobs, settled } = await led();
    const stale = { code: "STALE_EPOCH", details: { field: "leader_epoch", expected: 1, got: 9 } };
    await expect(jobs.submit([{ op: "x", jobId: "job" }], 9n)).rejects.toMatchObject(stale);
    await expect(jobs.lease(wish, 0, never(), 9n)).rejects.toMatchObject(stale);
    await expect(jobs.renew("agent-1", "lease", [], 9n)).rejects.toMatchObject(stale);
    await expect(jobs.report([success("lease")], 9n)).rejects.toMatchObject(stale);
    expect(await settled(jobs.submit([{ op: "x", jobId: "job" }], 1n))).toMatchObject([{ kind: "created" }]);
  });

  it("are read on every node, and changed on the leader alone", async () => {
    const scene = await led();
    const { cluster, settled } = scene;
    const other = await cluster.start();
    await leased(scene);
    expect(await other.jobs.book.job("job")).toMatchObject({ state: "leased" });
    await expect(other.jobs.submit([{ op: "x" }])).rejects.toMatchObject({ code: "REFUSED" });
    const standby = createJobs(other);
    await settled(Promise.resolve());
    await expect(standby.submit([{ op: "x" }])).rejects.toMatchObject({ code: "NOT_LEADER" });
  });

  it("go on under the next leader, whose predecessor can change nothing any more", async () => {
    const scene = await led();
    const { cluster, jobs, clock, settled } = scene;
    const { leaseId } = await leased(scene);
    const other = await cluster.start();
    const next = createJobs(other);
    await clock.advance(1_000);
    const waiting = jobs.lease(wish, 60_000, never());
    waiting.catch(() => undefined);
    await cluster.lose("scheduler");
    await expect(waiting).rejects.toMatchObject({ code: expect.stringMatching(/NOT_LEADER|DRAINING/) as string });
    await cluster.gain(other, "scheduler");
    await expect(jobs.report([success(leaseId)])).rejects.toMatchObject({ code: "NOT_LEADER" });
    expect(await settled(next.report([success(leaseId)]))).toMatchObject([{ kind: "accepted" }]);
  });

  it("count what was submitted and what came too late", async () => {
    const scene = await led();
    const { node, jobs, settled } = scene;
    const { leaseId } = await leased(scene);
    await settled(jobs.submit([{ op: "resize", jobId: "job" }]));
    await settled(jobs.cancel("job"));
    expect(await settled(jobs.report([success(leaseId)]))).toEqual([{ kind: "stale", expected: 2 }]);
    const text = await node.registry.metrics();
    expect(text).toContain("holdfast_jobs_total 1");
    expect(text).toContain("holdfast_job_stale_results_total 1");
    expect(text).toContain('holdfast_jobs{state="cancelled"} 1');
    expect(text).toContain('holdfast_jobs{state="queued"} 0');
  });

  it("of an agent that was deleted go to others, and it gets none until it registers anew", async () => {
    const scene = await led();
    const { jobs, settled } = scene;
    const beat = { agent: "agent-1", namespace: "default", capabilities: [], version: null, tasks: 0 };
    await settled(jobs.heartbeat({ ...beat, registers: true }));
    await leased(scene);
    expect(await settled(jobs.removeAgent("agent-1"))).toEqual({ kind: "removed" });
    expect(await jobs.book.job("job")).toMatchObject({ state: "queued", attempts: 0 });
    expect(await settled(jobs.lease(wish, 0, never()))).toEqual({ kind: "deleted" });
    expect(await settled(jobs.heartbeat({ ...beat, registers: false }), 1_000)).toEqual({ kind: "deleted" });
    await settled(jobs.heartbeat({ ...beat, registers: true }));
    expect(await settled(jobs.lease(wish, 0, never()))).toMatchObject({ kind: "leased" });
  });
});

describe("a leader that gives its role up", () => {
  const isLeading = (jobs: Jobs): boolean => jobs.isOpen;

  it("takes results for as long as somebody works for it, hands nothing out, and is gone then", async () => {
    const scene = await led({ drainGraceSeconds: 3 });
    const { node, jobs, clock, settled } = scene;
    const { leaseId } = await leased(scene);
    const steppedDown = node.role("scheduler").stepDown();
    await clock.advance(0);
    await expect(jobs.submit([{ op: "x" }])).rejects.toMatchObject({ code: "DRAINING" });
    await expect(jobs.lease(wish, 0, never())).rejects.toMatchObject({ code: "DRAINING" });
    await clock.advance(1_000);
    expect(isLeading(jobs)).toBe(true);
    expect(await settled(jobs.report([success(leaseId)]))).toMatchObject([{ kind: "accepted" }]);
    await clock.advance(100);
    await steppedDown;
    expect(isLeading(jobs)).toBe(false);
  });

  it("waits no longer than its grace for results", async () => {
    const scene = await led({ drainGraceSeconds: 3 });
    const { node, jobs, clock } = scene;
    await leased(scene);
    const steppedDown = node.role("scheduler").stepDown();
    await clock.advance(2_900);
    expect(isLeading(jobs)).toBe(true);
    await clock.advance(200);
    await steppedDown;
    expect(isLeading(jobs)).toBe(false);
  });

  it("is gone at once where nothing is leased, and those who wait hear of it", async () => {
    const { node, jobs, clock } = await led({ drainGraceSeconds: 30 });
    const waiting = jobs.lease(wish, 60_000, never());
    waiting.catch(() => undefined);
    await clock.advance(0);
    const steppedDown = node.role("scheduler").stepDown();
    await clock.advance(0);
    await steppedDown;
    await expect(waiting).rejects.toMatchObject({ code: "DRAINING" });
  });

  it("commits what it had taken in before it goes", async () => {
    const { node, jobs, clock } = await led();
    const submitted = jobs.submit([{ op: "x", jobId: "last" }]);
    const steppedDown = node.role("scheduler").stepDown();
    await clock.advance(100);
    await steppedDown;
    expect(await submitted).toMatchObject([{ kind: "created" }]);
    expect(await jobs.book.job("last")).toMatchObject({ state: "queued" });
  });
});
