import { describe, expect, it } from "vitest";
import { gatedOperation, reportsOf, startAgent, until } from "../../../test/support/agent-scene.js";
import type { JobLedger, LedgerJob } from "../../../test/support/job-ledger.js";
import { type Fault, StandInLeader } from "../../../test/support/stand-in-leader.js";
import type { OperationContext } from "./operation.js";

/** Long enough for a renewal by a machine that has other things to do. */
const shortTtlMs = 1_200;
/** Where none has to run out. */
const longTtlMs = 9_000;

describe("the leases of an agent", () => {
  it("are renewed while a job runs, and carry its progress", async () => {
    await using leader = await StandInLeader.start();
    leader.ledger.ttlMs = longTtlMs;
    const { begun, operation } = gatedOperation();
    const job = leader.ledger.submit("wait");
    await using _agent = startAgent(leader, { operations: { wait: operation } });
    await until(() => begun.length === 1);
    const until0 = job.leased_until;
    begun[0]?.context.progress({ percent: 40 });
    await until(() => job.progress !== null);
    expect(job.progress).toEqual({ percent: 40 });
    await leader.asked("/renew", 2);
    expect(job.leased_until).toBeGreaterThan(until0);
    begun[0]?.end();
    await until(() => leader.ledger.isDone());
    expect(job).toMatchObject({ state: "succeeded", job_epoch: 1, accepted: [1] });
  });

  it.each([
    ["was cancelled", (ledger: JobLedger, job: LedgerJob) => ledger.cancel(job)],
    [
      "is another's",
      (ledger: JobLedger, job: LedgerJob) =>
        void Object.assign(ledger.takeAway(job) ?? job, {
          state: "leased",
          leased_until: Number.POSITIVE_INFINITY,
        }),
    ],
  ])("tell that a job %s: it is aborted, and nothing is reported", async (_what, takeAway) => {
    await using leader = await StandInLeader.start();
    leader.ledger.ttlMs = shortTtlMs;
    const { begun, operation } = gatedOperation();
    const job = leader.ledger.submit("wait");
    await using started = startAgent(leader, { operations: { wait: operation } });
    await until(() => begun.length === 1);
    takeAway(leader.ledger, job);
    await until(() => begun[0]?.context.signal.aborted === true);
    await until(() => started.agent.counts.running === 0);
    expect(started.agent.counts).toMatchObject({ lost: 1, waitingResults: 0 });
    expect(leader.count("/v1/results")).toBe(0);
    expect(job.accepted).toEqual([]);
  });

  it("that cannot be renewed run out: the job is aborted, and its late result is not reported", async () => {
    await using leader = await StandInLeader.start();
    leader.ledger.ttlMs = shortTtlMs;
    const { begun, operation } = gatedOperation({ heeds: false });
    const job = leader.ledger.submit("wait");
    // None of its other polls waits for work meanwhile.
    await using started = startAgent(leader, { operations: { wait: operation }, concurrency: 1 });
    await until(() => begun.length === 1);
    leader.fault = () => ({ kind: "refuse", status: 503, error: "DATABASE_AWAY" });
    await until(() => begun[0]?.context.signal.aborted === true);
    // Else it would be handed out again, at once.
    leader.ledger.cancel(job);
    leader.fault = () => null;
    begun[0]?.end();
    await until(() => started.agent.counts.running === 0);
    expect(started.agent.counts).toMatchObject({ lost: 1, waitingResults: 0 });
    expect(leader.count("/v1/results")).toBe(0);
  });

  it("are kept when the leader only dislikes what was told with them", async () => {
    await using leader = await StandInLeader.start();
    leader.ledger.ttlMs = longTtlMs;
    const { begun, operation } = gatedOperation();
    const job = leader.ledger.submit("wait");
    leader.fault = (path, { body }) =>
      path.endsWith("/renew") && "progress" in body ? { kind: "refuse", status: 422, error: "INVALID_REQUEST" } : null;
    await using _agent = startAgent(leader, { operations: { wait: operation } });
    await until(() => begun.length === 1);
    begun[0]?.context.progress("half");
    await leader.asked("/renew", 2);
    expect(begun[0]?.context.signal.aborted).toBe(false);
    begun[0]?.end();
    await until(() => leader.ledger.isDone());
    expect(job).toMatchObject({ state: "succeeded", progress: null });
  });
});

describe("a lease whose answer was lost", () => {
  const namesOf = (leader: StandInLeader): readonly unknown[] =>
    leader.heard.filter(({ path }) => path === "/v1/leases").map(({ body }) => body.lease_id);

  it("is asked for again under the same name, and the next one has another", async () => {
    await using leader = await StandInLeader.start();
    leader.failNext("/v1/leases", { kind: "reset" });
    leader.ledger.submit("double", { n: 3 });
    await using started = startAgent(leader);
    await until(() => started.agent.counts.accepted === 1);
    await leader.asked("/v1/leases", 3);
    const [first, second, third] = namesOf(leader);
    expect(first).toEqual(expect.stringMatching(/^[0-9a-f-]{36}$/));
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  it("is given back by an agent that stops meanwhile", async () => {
    await using leader = await StandInLeader.start();
    const started = startAgent(leader);
    await leader.asked("/v1/leases", 1);
    await started.agent.stop();
    const [name] = namesOf(leader);
    expect(leader.heard.map(({ path }) => path)).toContain(`/v1/leases/${String(name)}/give-back`);
  });
});

describe("a result", () => {
  const lossy: readonly (readonly [string, Fault])[] = [
    ["a connection that is cut", { kind: "reset" }],
    ["an answer that is lost", { kind: "lost_reply" }],
    ["a leader that drains", { kind: "refuse", status: 503, error: "DRAINING" }],
    ["a node that does not lead and knows nobody", { kind: "not_leader", leaderUrl: null }],
    ["garbage", { kind: "garbage" }],
    ["a stranger's answer", { kind: "stranger" }],
    ["a server's failure", { kind: "refuse", status: 500, error: "INTERNAL" }],
    ["a token that is not known yet", { kind: "refuse", status: 401, error: "UNAUTHORIZED" }],
  ];

  it.each(lossy)("survives %s: it is sent again under the same epoch, and accepted once", async (_what, fault) => {
    await using leader = await StandInLeader.start();
    leader.failNext("/v1/results", fault, fault);
    const job = leader.ledger.submit("double", { n: 3 });
    await using started = startAgent(leader);
    await until(() => started.agent.counts.accepted === 1);
    expect(job).toMatchObject({ state: "succeeded", result: { n: 6 }, accepted: [1] });
    const sent = reportsOf(leader);
    expect(sent).toHaveLength(3);
    expect(new Set(sent.map(({ job_epoch }) => job_epoch))).toEqual(new Set([1]));
    expect(leader.ledger.repeatedResults).toBe(fault.kind === "lost_reply" ? 2 : 0);
    expect(started.agent.counts).toMatchObject({ waitingResults: 0, stale: 0 });
  });

  it("that comes too late is dropped and counted, and never sent again", async () => {
    await using leader = await StandInLeader.start();
    const { begun, operation } = gatedOperation();
    const job = leader.ledger.submit("wait");
    await using started = startAgent(leader, { operations: { wait: operation } });
    await until(() => begun.length === 1);
    leader.ledger.cancel(job);
    begun[0]?.end();
    await until(() => started.agent.counts.stale === 1);
    await leader.asked("/v1/leases", leader.count("/v1/leases") + 1);
    expect(leader.count("/v1/results")).toBe(1);
    expect(leader.ledger.staleResults).toBe(1);
    expect(started.agent.counts).toMatchObject({ waitingResults: 0, accepted: 0 });
  });

  it("goes with others in one request", async () => {
    await using leader = await StandInLeader.start();
    const { begun, operation } = gatedOperation();
    for (let n = 0; n < 20; n += 1) leader.ledger.submit("wait");
    await using _agent = startAgent(leader, { operations: { wait: operation }, concurrency: 20 });
    await until(() => begun.length === 20);
    for (const { end } of begun) end();
    await until(() => leader.ledger.isDone());
    expect(leader.count("/v1/results")).toBeLessThanOrEqual(2);
  });

  it("that spoils its batch is found, and the others are accepted", async () => {
    await using leader = await StandInLeader.start();
    leader.fault = (path, { body }) =>
      path === "/v1/results" && JSON.stringify(body).includes('"poison"')
        ? { kind: "refuse", status: 413, error: "BODY_TOO_LARGE", message: "It is too much." }
        : null;
    const { begun, operation } = gatedOperation();
    const operations = {
      echo: async (payload: unknown, context: OperationContext) => {
        await operation(payload, context);
        return payload;
      },
    };
    const jobs = ["one", "poison", "three"].map((text) => leader.ledger.submit("echo", text));
    await using started = startAgent(leader, { operations });
    await until(() => begun.length === 3);
    for (const { end } of begun) end();
    await until(() => leader.ledger.isDone());
    expect(jobs.map(({ state }) => state)).toEqual(["succeeded", "failed", "succeeded"]);
    expect(jobs[1]?.error).toBe("the result was refused: It is too much.");
    await until(() => started.agent.counts.accepted === 3);
  });

  it("holds up new work where too many wait for a leader", async () => {
    await using leader = await StandInLeader.start();
    leader.failNext("/v1/results", ...Array.from({ length: 200 }, (): Fault => ({ kind: "reset" })));
    for (let n = 0; n < 10; n += 1) leader.ledger.submit("double", { n });
    await using started = startAgent(leader, { concurrency: 2, maxWaitingResults: 2 });
    await leader.asked("/v1/results", 3);
    expect(started.agent.counts).toMatchObject({ leased: 2, waitingResults: 2, running: 0 });
    leader.fault = () => null;
    await until(() => leader.ledger.isDone());
    await until(() => started.agent.counts.accepted === 10);
  });
});
