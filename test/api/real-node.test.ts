import { describe, expect, it } from "vitest";
import { createJobs } from "../../src/jobs.js";
import { createServer } from "../../src/server/serve.js";
import { createTestCluster } from "../../src/testing.js";

/** Two nodes on the store in memory, and the API of each. Time stands still but for what the test moves. */
async function startPair() {
  const cluster = createTestCluster();
  const a = await cluster.start({ api: { publicUrl: "http://a:1" } });
  await cluster.gain(a, "scheduler");
  const b = await cluster.start({ api: { publicUrl: "http://b:1" } });
  b.role("scheduler");
  await cluster.clock.advance(2_000);
  const apps = [createServer(a), createServer(b)] as const;
  const stop = async (): Promise<void> => {
    await Promise.all(apps.map(async (app) => await app.close()));
    const closed = Promise.all([a.close(), b.close()]);
    await cluster.clock.advance(5_000);
    await closed;
  };
  return { cluster, a, b, atA: apps[0], atB: apps[1], [Symbol.asyncDispose]: stop };
}

describe("the API of real nodes", () => {
  it("tells the leader from the standby, in every form", async () => {
    await using pair = await startPair();
    const { cluster, a, b, atA, atB } = pair;
    expect((await atA.inject({ url: "/cluster/status" })).json()).toMatchObject({ role: "primary", is_leader: true });
    expect((await atB.inject({ url: "/cluster/status" })).json()).toMatchObject({ role: "standby", is_leader: false });
    const expected = { leader_id: a.id, leader_url: "http://a:1", leader_epoch: 1 };
    expect((await atB.inject({ url: "/role" })).json()).toEqual({ node_id: b.id, role: "STANDBY", ...expected });
    const nodes = (await atB.inject({ url: "/cluster/nodes" })).json<{ nodes: object[] }>();
    expect(nodes).toMatchObject({ leader_node_id: a.id, lease_owner: a.id });
    expect(nodes.nodes).toMatchObject([
      { node_id: a.id, status: "active", is_leader: true },
      { node_id: b.id, status: "active", is_leader: false },
    ]);
    expect((await atB.inject({ url: "/cluster/info" })).json()).toMatchObject({ total_nodes: 2, active_nodes: 2 });
    const { items } = (await atB.inject({ url: "/cluster/leaders" })).json<{ items: object[] }>();
    expect(items).toMatchObject([{ role: "scheduler", ...expected }]);
    const history = (await atA.inject({ url: "/cluster/history?role=scheduler" })).json<{ items: object[] }>();
    expect(history.items).toMatchObject([{ event: "elected", epoch: 1, node_id: a.id }]);
    expect((await atB.inject({ url: "/ready" })).statusCode).toBe(200);
    const refused = await atB.inject({ method: "POST", url: "/v1/jobs" });
    expect(refused.json()).toEqual({ error: "NOT_LEADER", ...expected, node_id: b.id, role: "STANDBY" });
    const unopened = await atA.inject({ method: "POST", url: "/v1/jobs", payload: { op: "x" } });
    expect(unopened.json()).toMatchObject({
      error: "REFUSED",
      message: expect.stringContaining("createJobs") as string,
    });
    createJobs(a);
    const submitting = atA.inject({ method: "POST", url: "/v1/jobs", payload: { op: "x", job_id: "j" } });
    await cluster.clock.advance(10);
    expect((await submitting).json()).toMatchObject({ job_id: "j", leader_epoch: 1 });
    expect((await atB.inject({ url: "/v1/jobs/j" })).json()).toMatchObject({ state: "queued" });
  });

  it("hands a role over when a standby is asked to make the leader step down", async () => {
    await using pair = await startPair();
    const { cluster, a, b, atA, atB } = pair;
    const url = "/cluster/leaders/scheduler/step-down";
    const stepping = atB.inject({ method: "POST", url, payload: { to: b.id } });
    let answered = false;
    stepping.then(
      () => {
        answered = true;
      },
      () => undefined,
    );
    while (!answered) await cluster.clock.advance(100);
    const answer = await stepping;
    expect(answer.json()).toMatchObject({ kind: "step_down", node_id: a.id, to: b.id, acted_at: expect.any(Number) });
    expect(answer.statusCode).toBe(200);
    await cluster.clock.advance(3_000);
    expect((await atB.inject({ url: "/cluster/status" })).json()).toMatchObject({ role: "primary" });
    expect((await atA.inject({ url: "/cluster/status" })).json()).toMatchObject({ role: "standby" });
  });

  it("knows a token that another node made by the next beat", async () => {
    await using pair = await startPair();
    const { cluster, atA, atB } = pair;
    const payload = { name: "ops", role: "operator" };
    const made = await atA.inject({ method: "POST", url: "/tokens", payload });
    const { secret } = made.json<{ secret: string }>();
    await cluster.clock.advance(2_000);
    expect((await atB.inject({ url: "/cluster/status" })).statusCode).toBe(401);
    const headers = { authorization: `Bearer ${secret}` };
    expect((await atB.inject({ url: "/cluster/status", headers })).statusCode).toBe(200);
    expect((await atB.inject({ url: "/tokens", headers })).statusCode).toBe(403);
  });

  it("refuses a second token of a living name, and an unknown node, in the words of the store", async () => {
    await using pair = await startPair();
    const { atA } = pair;
    const unknown = await atA.inject({ method: "POST", url: "/cluster/nodes/nobody/drain" });
    expect(unknown.json()).toMatchObject({ error: "UNKNOWN_NODE" });
    expect(unknown.statusCode).toBe(404);
    const payload = { name: "ops", role: "admin" };
    const { secret } = (await atA.inject({ method: "POST", url: "/tokens", payload })).json<{ secret: string }>();
    const headers = { authorization: `Bearer ${secret}` };
    const again = await atA.inject({ method: "POST", url: "/tokens", payload, headers });
    expect(again.statusCode).toBe(409);
    expect(again.json()).toMatchObject({ error: "REFUSED", message: expect.stringContaining("ops") as string });
  });
});
