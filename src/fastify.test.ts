import { fastify } from "fastify";
import { describe, expect, it } from "vitest";
import { holdfast } from "./fastify.js";
import { createTestCluster } from "./testing.js";

async function startTwo() {
  const cluster = createTestCluster();
  const settings = { cluster: { primaryRole: "orders" } };
  const leader = await cluster.start({ ...settings, api: { publicUrl: "http://leader:1" } });
  await cluster.gain(leader, "orders");
  const standby = await cluster.start(settings);
  standby.role("orders");
  await cluster.clock.advance(2_000);
  return { cluster, leader, standby };
}

type Node = Awaited<ReturnType<typeof startTwo>>["leader"];

async function serverOf(node: Node) {
  const app = fastify();
  await app.register(holdfast, { node });
  // A plugin beside it, as applications are made of them.
  await app.register(async (inner) => {
    inner.post(
      "/orders",
      { onRequest: inner.leaderOnly("orders") },
      async () => await Promise.resolve({ taken: true }),
    );
    const ends = { onRequest: inner.leaderOnly("orders", { endsWork: true }) };
    inner.post("/orders/done", ends, async () => await Promise.resolve({ done: true }));
    inner.get("/orders", async () => await Promise.resolve([]));
    await Promise.resolve();
  });
  return app;
}

describe("holdfast/fastify", () => {
  it("lets the leader's requests pass, and answers 409 on a standby before the body is read", async () => {
    const { cluster, leader, standby } = await startTwo();
    const atLeader = await serverOf(leader);
    const atStandby = await serverOf(standby);
    const taken = await atLeader.inject({ method: "POST", url: "/orders", payload: {} });
    expect(taken.json()).toEqual({ taken: true });
    const headers = { "content-type": "application/json" };
    const refused = await atStandby.inject({ method: "POST", url: "/orders", headers, payload: "{ not JSON" });
    expect(refused.statusCode).toBe(409);
    expect(refused.json()).toEqual({
      error: "NOT_LEADER",
      leader_id: leader.id,
      leader_url: "http://leader:1",
      leader_epoch: 1,
      node_id: standby.id,
      role: "STANDBY",
    });
    await cluster.gain(standby, "orders");
    expect((await atStandby.inject({ method: "POST", url: "/orders", payload: {} })).statusCode).toBe(200);
    expect((await atLeader.inject({ method: "POST", url: "/orders", payload: {} })).statusCode).toBe(409);
  });

  it("puts the headers on every answer, of routes beside it and of none", async () => {
    const { leader, standby } = await startTwo();
    const app = await serverOf(standby);
    for (const url of ["/orders", "/nothing"]) {
      const { headers } = await app.inject({ url });
      expect(headers).toMatchObject({
        "x-holdfast-node": standby.id,
        "x-holdfast-role": "STANDBY",
        "x-holdfast-leader-id": leader.id,
        "x-holdfast-leader-epoch": "1",
      });
    }
  });

  it("answers 503 on a leader that drains", async () => {
    const { cluster, leader } = await startTwo();
    const app = await serverOf(leader);
    const work = leader.work.enter();
    const drained = leader.drain();
    const refused = await app.inject({ method: "POST", url: "/orders", payload: {} });
    expect(refused.statusCode).toBe(503);
    expect(refused.json()).toMatchObject({ error: "DRAINING" });
    // What it gave out before may still come back.
    expect((await app.inject({ method: "POST", url: "/orders/done", payload: {} })).json()).toEqual({ done: true });
    work[Symbol.dispose]();
    await drained;
    await cluster.clock.advance(2_000); // A beat shows it who leads now.
    expect((await app.inject({ method: "POST", url: "/orders", payload: {} })).statusCode).toBe(409);
  });

  it("finds a malformed role when the route is made", async () => {
    const { leader } = await startTwo();
    const app = await serverOf(leader);
    expect(() => app.leaderOnly("No Such Role")).toThrow("is not a role name");
  });
});
