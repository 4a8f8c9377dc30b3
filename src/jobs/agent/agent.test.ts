import { describe, expect, it } from "vitest";
import { JobLedger, type LedgerJob } from "../../../test/support/job-ledger.js";
import { type Fault, StandInLeader } from "../../../test/support/stand-in-leader.js";
import { type Clock, systemClock } from "../../election/clock.js";
import { waitUntil } from "../../store/embedded/wait-until.js";
import { Agent } from "./agent.js";
import type { AgentOptions } from "./agent-settings.js";
import { FinalError, type OperationContext } from "./operation.js";

const patienceMs = 15_000;

async function until(condition: () => boolean): Promise<void> {
  if (!(await waitUntil(condition, patienceMs))) throw new Error(`It did not come true: ${String(condition)}`);
}

/** An agent at work, with the operations of a test. Disposing stops it. */
function startAgent(leader: { readonly url: string }, options: Partial<AgentOptions> = {}) {
  const agent = new Agent({
    url: leader.url,
    name: "worker-1",
    operations: { double: ({ n }: { readonly n: number }) => ({ n: 2 * n }) },
    pollMs: 2_000,
    heartbeatMs: 50,
    progressMs: 10,
    drainMs: 10_000,
    ...options,
  });
  const running = agent.run();
  running.catch(() => undefined); // A test that expects the failure awaits it.
  return {
    agent,
    running,
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await agent.stop();
    },
  };
}

/** An operation that begins, and ends when the test says so. */
function gatedOperation({ heeds = true } = {}) {
  const begun: { readonly payload: unknown; readonly context: OperationContext; readonly end: () => void }[] = [];
  const operation = async (payload: unknown, context: OperationContext): Promise<string> => {
    await new Promise<void>((resolve, reject) => {
      begun.push({ payload, context, end: resolve });
      if (heeds) context.signal.addEventListener("abort", () => reject(context.signal.reason as Error), { once: true });
    });
    return "done";
  };
  return { begun, operation };
}

describe("an agent", () => {
  it("registers, takes jobs, runs them and reports what they return", async () => {
    await using leader = await StandInLeader.start();
    const jobs = [1, 2, 3].map((n) => leader.ledger.submit("double", { n }));
    await using _agent = startAgent(leader, { token: "hf_secret", namespace: "images", capabilities: ["gpu"] });
    await until(() => leader.ledger.isDone());
    expect(jobs.map(({ state, result }) => [state, result])).toEqual([1, 2, 3].map((n) => ["succeeded", { n: 2 * n }]));
    const who = { agent: "worker-1", namespace: "images", capabilities: ["gpu"] };
    expect(leader.heard[0]).toMatchObject({
      path: "/v1/agents/heartbeat",
      body: { ...who, registers: true, tasks: 0 },
    });
    expect(leader.heard[1]).toMatchObject({ path: "/v1/leases", body: { ...who, max_tasks: 4, timeout_ms: 2_000 } });
    expect(new Set(leader.heard.map(({ authorization }) => authorization))).toEqual(new Set(["Bearer hf_secret"]));
  });

  it("says again and again that it is there, and how much it does", async () => {
    await using leader = await StandInLeader.start();
    const { begun, operation } = gatedOperation();
    await using _agent = startAgent(leader, { operations: { wait: operation } });
    leader.ledger.submit("wait");
    await until(() => begun.length === 1);
    const beats = () => leader.heard.filter(({ path }) => path === "/v1/agents/heartbeat").map(({ body }) => body);
    await until(() => beats().some(({ tasks, registers }) => tasks === 1 && registers === false));
    expect(beats().filter(({ registers }) => registers === true)).toHaveLength(1);
    begun[0]?.end();
  });

  it("is handed a job the moment there is one", async () => {
    await using leader = await StandInLeader.start();
    await using _agent = startAgent(leader, { pollMs: 60_000 });
    await leader.asked("/v1/leases");
    leader.ledger.submit("double", { n: 4 });
    await until(() => leader.ledger.isDone());
    expect(leader.count("/v1/leases")).toBeLessThanOrEqual(2);
  });

  it("runs as many at once as it may, and asks for no more than it has room for", async () => {
    await using leader = await StandInLeader.start();
    const { begun, operation } = gatedOperation();
    for (let n = 0; n < 8; n += 1) leader.ledger.submit("wait");
    await using _agent = startAgent(leader, { operations: { wait: operation }, concurrency: 3 });
    await until(() => begun.length === 3);
    expect([...leader.ledger.jobs.values()].filter(({ state }) => state === "leased")).toHaveLength(3);
    begun[0]?.end();
    await until(() => begun.length === 4);
    const asked = leader.heard.filter(({ path }) => path === "/v1/leases").map(({ body }) => body.max_tasks);
    expect(asked).toEqual([3, 1]);
    for (const { end } of begun) end();
    await until(() => begun.length === 7);
    for (const { end } of begun) end();
    await until(() => begun.length === 8);
    for (const { end } of begun) end();
  });

  it("reports what an operation throws, and whether another attempt would help", async () => {
    await using leader = await StandInLeader.start();
    const operations = {
      flaky: (_payload: unknown, { attempt }: OperationContext) => {
        if (attempt === 1) throw new TypeError("not now");
        return attempt;
      },
      hopeless: () => {
        throw new FinalError("no such customer");
      },
    };
    const flaky = leader.ledger.submit("flaky");
    const hopeless = leader.ledger.submit("hopeless");
    await using _agent = startAgent(leader, { operations });
    await until(() => leader.ledger.isDone());
    expect(flaky).toMatchObject({ state: "succeeded", result: 2, accepted: [1, 2] });
    expect(hopeless).toMatchObject({ state: "failed", error: "no such customer", accepted: [1] });
    const failures = reportsOf(leader).filter(({ status }) => status === "failed");
    expect(failures).toContainEqual(expect.objectContaining({ job_id: flaky.job_id, error: "TypeError: not now" }));
  });

  it.each([
    ["what no JSON can say", () => ({ n: 1n }), /^the result cannot be kept: TypeError: .*BigInt/],
    ["more than a job keeps", () => "x".repeat(300_000), /^the result cannot be kept: The result has 300002 bytes/],
    ["half a character", () => "\ud800", /^the result cannot be kept: The result must hold whole characters/],
  ])("does not send %s, and says so for good", async (_what, operation, said) => {
    await using leader = await StandInLeader.start();
    const job = leader.ledger.submit("odd");
    await using _agent = startAgent(leader, { operations: { odd: operation } });
    await until(() => leader.ledger.isDone());
    expect(job).toMatchObject({ state: "failed", error: expect.stringMatching(said) as unknown });
  });

  it("fails a job of an operation that it does not have, for good", async () => {
    await using leader = await StandInLeader.start();
    const job = leader.ledger.submit("constructor");
    await using _agent = startAgent(leader);
    await until(() => leader.ledger.isDone());
    expect(job).toMatchObject({ state: "failed", error: 'this agent has no operation "constructor"' });
  });

  it("ends a job that takes longer than its timeout, and has it tried again", async () => {
    await using leader = await StandInLeader.start();
    const operations = {
      slow: (_payload: unknown, { attempt, signal }: OperationContext) =>
        attempt === 2
          ? "quick"
          : new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("heard it")))),
    };
    const job = leader.ledger.submit("slow", null, { timeout_ms: 30 });
    await using _agent = startAgent(leader, { operations });
    await until(() => leader.ledger.isDone());
    expect(job).toMatchObject({ state: "succeeded", result: "quick", accepted: [1, 2] });
    expect(reportsOf(leader)[0]).toMatchObject({ error: "took longer than its timeout of 30 ms" });
  });
});

describe("the leases of an agent", () => {
  it("are renewed while a job runs, and carry its progress", async () => {
    await using leader = await StandInLeader.start();
    leader.ledger.ttlMs = 300;
    const { begun, operation } = gatedOperation();
    const job = leader.ledger.submit("wait");
    await using _agent = startAgent(leader, { operations: { wait: operation } });
    await until(() => begun.length === 1);
    const until0 = job.leased_until;
    begun[0]?.context.progress({ percent: 40 });
    await until(() => job.progress !== null);
    expect(job.progress).toEqual({ percent: 40 });
    await leader.asked("/renew", 4);
    expect(job.leased_until).toBeGreaterThan(until0);
    begun[0]?.end();
    await until(() => leader.ledger.isDone());
    expect(job).toMatchObject({ state: "succeeded", job_epoch: 1, accepted: [1] });
  });

  it.each([
    ["was cancelled", (ledger: JobLedger, job: LedgerJob) => ledger.cancel(job)],
    [
      "is another's",
      (ledger: JobLedger, job: LedgerJob) => void Object.assign(ledger.takeAway(job) ?? job, { state: "leased" }),
    ],
  ])("tell that a job %s: it is aborted, and nothing is reported", async (_what, takeAway) => {
    await using leader = await StandInLeader.start();
    leader.ledger.ttlMs = 150;
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
    leader.ledger.ttlMs = 100;
    const { begun, operation } = gatedOperation({ heeds: false });
    leader.ledger.submit("wait");
    await using started = startAgent(leader, { operations: { wait: operation } });
    await until(() => begun.length === 1);
    leader.fault = () => ({ kind: "refuse", status: 503, error: "DATABASE_AWAY" });
    await until(() => begun[0]?.context.signal.aborted === true);
    leader.fault = () => null;
    begun[0]?.end();
    await until(() => started.agent.counts.running === 0);
    expect(started.agent.counts).toMatchObject({ lost: 1, waitingResults: 0 });
    expect(leader.count("/v1/results")).toBe(0);
  });

  it("are kept when the leader only dislikes what was told with them", async () => {
    await using leader = await StandInLeader.start();
    leader.ledger.ttlMs = 150;
    const { begun, operation } = gatedOperation();
    const job = leader.ledger.submit("wait");
    leader.fault = (path, { body }) =>
      path.endsWith("/renew") && "progress" in body ? { kind: "refuse", status: 422, error: "INVALID_REQUEST" } : null;
    await using _agent = startAgent(leader, { operations: { wait: operation } });
    await until(() => begun.length === 1);
    begun[0]?.context.progress("half");
    await leader.asked("/renew", 3);
    expect(begun[0]?.context.signal.aborted).toBe(false);
    begun[0]?.end();
    await until(() => leader.ledger.isDone());
    expect(job).toMatchObject({ state: "succeeded", progress: null });
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

describe("the way to the leader", () => {
  it("is the one that a node names which does not lead", async () => {
    await using leader = await StandInLeader.start();
    await using standby = await StandInLeader.start();
    standby.fault = () => ({ kind: "not_leader", leaderUrl: `${leader.url}/` });
    leader.ledger.submit("double", { n: 1 });
    await using _agent = startAgent(standby);
    await until(() => leader.ledger.isDone());
    expect(standby.heard).toHaveLength(1);
  });

  it("goes on to another node when the leader dies, and results reach whoever leads then", async () => {
    const ledger = new JobLedger();
    await using second = await StandInLeader.start(ledger);
    await using first = await StandInLeader.start(ledger);
    second.fault = () => ({ kind: "not_leader", leaderUrl: first.url });
    const { begun, operation } = gatedOperation();
    const job = ledger.submit("wait");
    await using _agent = startAgent(first, { url: [first.url, second.url], operations: { wait: operation } });
    await until(() => begun.length === 1);
    await first.stop();
    begun[0]?.end();
    await second.asked("/v1/results");
    second.fault = () => null;
    await until(() => ledger.isDone());
    expect(job).toMatchObject({ state: "succeeded", accepted: [1], job_epoch: 1 });
  });

  it("leaves a leader that hangs, the long poll there included", async () => {
    const ledger = new JobLedger();
    await using second = await StandInLeader.start(ledger);
    await using first = await StandInLeader.start(ledger);
    await using _agent = startAgent(first, {
      url: [first.url, second.url],
      pollMs: 100_000,
      heartbeatMs: 100_000,
      probeMs: 400,
    });
    await first.asked("/health");
    expect(first.count("/v1/leases")).toBe(1);
    // It freezes: whoever waits for work would hear nothing for a hundred seconds.
    first.fault = () => ({ kind: "hang" });
    await second.asked("/v1/leases");
    ledger.submit("double", { n: 1 });
    await until(() => ledger.isDone());
    expect(second.count("/v1/results")).toBe(1);
  });

  it("is not followed with a token to an address where it must not go", async () => {
    await using leader = await StandInLeader.start();
    await using standby = await StandInLeader.start();
    const elsewhere = leader.url.replace("127.0.0.1", "0.0.0.0");
    standby.fault = () => ({ kind: "not_leader", leaderUrl: elsewhere });
    const said: string[] = [];
    const tell = (_details: object, message: string): void => void said.push(message);
    const log = { debug: tell, info: tell, warn: tell, error: tell };
    await using _agent = startAgent(standby, { token: "hf_secret", log });
    await standby.asked("/v1/agents/heartbeat", 3);
    expect(leader.heard).toEqual([]);
    expect(said.filter((line) => line.includes("a token goes elsewhere only over HTTPS"))).toHaveLength(1);
  });

  it("is looked for without haste: who finds nobody asks ever less often", async () => {
    await using standby = await StandInLeader.start();
    const at: number[] = [];
    standby.fault = () => {
      at.push(performance.now());
      return { kind: "not_leader", leaderUrl: standby.url };
    };
    await using _agent = startAgent(standby);
    await standby.asked("/v1/agents/heartbeat", 4);
    const pauses = at.slice(1).map((each, index) => each - (at[index] ?? 0));
    expect(pauses[0]).toBeGreaterThanOrEqual(38);
    expect(pauses[2]).toBeGreaterThanOrEqual(158);
  });
});

describe("an agent that is refused", () => {
  it.each([
    [410, "AGENT_DELETED", 'Agent "worker-1" was deleted'],
    [422, "INVALID_REQUEST", 'The leader refuses agent "worker-1": No.'],
  ])("with %i %s ends, and says so", async (status, error, said) => {
    await using leader = await StandInLeader.start();
    leader.fault = (path) => (path === "/v1/leases" ? { kind: "refuse", status, error } : null);
    await using started = startAgent(leader);
    await expect(started.running).rejects.toThrow(said);
  });

  const fast: Clock = {
    ...systemClock,
    mono: () => 10 * systemClock.mono(),
    wakeAt: (mono, fire) => systemClock.wakeAt(mono / 10, fire),
  };

  it.each([
    [401, "UNAUTHORIZED", "hf_wrong", "No node knows this token"],
    [401, "UNAUTHORIZED", undefined, "The nodes take no agent without a token: make one with"],
    [403, "FORBIDDEN", "hf_other", 'This token does not speak for agent "worker-1": make one with'],
  ])("with %i %s is patient for some seconds, and ends", async (status, error, token, said) => {
    await using leader = await StandInLeader.start();
    leader.fault = () => ({ kind: "refuse", status, error });
    await using started = startAgent(leader, { token, clock: fast });
    const failure = { code: error, message: expect.stringContaining(said) as unknown };
    await expect(started.running).rejects.toMatchObject(failure);
    expect(leader.heard.length).toBeGreaterThan(3);
  });

  it("is not refused for good where it was only too early", async () => {
    await using leader = await StandInLeader.start();
    const early: Fault = { kind: "refuse", status: 401, error: "UNAUTHORIZED" };
    leader.failNext("/v1/agents/heartbeat", early, early, early);
    leader.ledger.submit("double", { n: 1 });
    await using _agent = startAgent(leader, { token: "hf_new" });
    await until(() => leader.ledger.isDone());
    expect(leader.count("/v1/agents/heartbeat")).toBeGreaterThan(3);
  });
});

describe("an agent that stops", () => {
  it("takes no more work, finishes what runs and reports it", async () => {
    await using leader = await StandInLeader.start();
    const { begun, operation } = gatedOperation();
    const job = leader.ledger.submit("wait");
    const { agent, running } = startAgent(leader, { operations: { wait: operation }, concurrency: 2 });
    await until(() => begun.length === 1);
    await until(() => leader.ledger.waiting.size === 1);
    const stopping = agent.stop();
    await until(() => leader.ledger.waiting.size === 0);
    leader.ledger.submit("wait");
    begun[0]?.end();
    await Promise.all([stopping, running]);
    expect(job).toMatchObject({ state: "succeeded", accepted: [1] });
    expect([...leader.ledger.jobs.values()].map(({ state }) => state)).toEqual(["succeeded", "queued"]);
    expect(begun).toHaveLength(1);
  });

  it("gives back what does not end in time, without an attempt, and heeds no late result", async () => {
    await using leader = await StandInLeader.start();
    const { begun, operation } = gatedOperation({ heeds: false });
    const job = leader.ledger.submit("wait");
    const { agent, running } = startAgent(leader, { operations: { wait: operation }, drainMs: 20 });
    await until(() => begun.length === 1);
    await Promise.all([agent.stop(), running]);
    expect(begun[0]?.context.signal.aborted).toBe(true);
    expect(job).toMatchObject({ state: "queued", attempts: 0, given_back: 1, accepted: [] });
    begun[0]?.end();
    expect(leader.count("/v1/results")).toBe(0);
  });

  it("gives back what it was handed at the last moment", async () => {
    await using leader = await StandInLeader.start();
    const job = leader.ledger.submit("double", { n: 1 });
    leader.failNext("/v1/leases", { kind: "garbage" });
    const quiet = (): void => undefined;
    // The work is there, and before any of it begins the agent is asked to stop.
    const info = (_details: object, message: string): void => {
      if (message.includes("again")) void started.agent.stop();
    };
    const log = { debug: quiet, info, warn: quiet, error: quiet };
    const started = startAgent(leader, { heartbeatMs: 60_000, log });
    await started.running;
    expect(job).toMatchObject({ state: "queued", job_epoch: 1, attempts: 0, given_back: 1, accepted: [] });
  });

  it("does so once, also where nobody is there to say goodbye to, and before it has begun", async () => {
    const leader = await StandInLeader.start();
    const { agent, running } = startAgent(leader);
    await leader.asked("/v1/leases");
    await leader.stop();
    await Promise.all([agent.stop(), agent.stop(), running]);
    const unused = new Agent({ url: leader.url, name: "never", operations: { none: () => null } });
    await unused.stop();
    await unused.run();
    expect([agent.counts.leased, unused.counts.leased]).toEqual([0, 0]);
  });
});

function reportsOf(leader: StandInLeader): readonly Readonly<Record<string, unknown>>[] {
  const requests = leader.heard.filter(({ path }) => path === "/v1/results");
  return requests.flatMap(({ body }) => body.results as Record<string, unknown>[]);
}
