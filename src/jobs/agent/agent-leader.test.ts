import { describe, expect, it } from "vitest";
import { gatedOperation, startAgent, until } from "../../../test/support/agent-scene.js";
import { JobLedger } from "../../../test/support/job-ledger.js";
import { type Fault, StandInLeader } from "../../../test/support/stand-in-leader.js";
import { type Clock, systemClock } from "../../election/clock.js";

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
    const since = fast.mono();
    await expect(started.running).rejects.toMatchObject(failure);
    expect(fast.mono() - since).toBeGreaterThan(4_000);
    expect(leader.heard.length).toBeGreaterThan(1);
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
