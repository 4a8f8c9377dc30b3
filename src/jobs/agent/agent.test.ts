import { describe, expect, it } from "vitest";
import { gatedOperation, reportsOf, startAgent, until } from "../../../test/support/agent-scene.js";
import { StandInLeader } from "../../../test/support/stand-in-leader.js";
import { Agent } from "./agent.js";
import { FinalError, type OperationContext } from "./operation.js";

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
