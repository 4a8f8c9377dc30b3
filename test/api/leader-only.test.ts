import { describe, expect, it } from "vitest";
import { serve, serveOpen } from "./served.js";
import { StandInNode } from "./stand-in-node.js";

const methods = ["POST", "PUT", "PATCH", "DELETE"] as const;

const refusal = {
  error: "NOT_LEADER",
  leader_id: "node-b",
  leader_url: "http://node-b:7400",
  leader_epoch: 7,
  node_id: "node-a",
  role: "STANDBY",
};

describe("a write below /v1/ on a node that does not lead scheduler", () => {
  it.each(methods)("by %s is answered with the way to the leader, and with nothing else", async (method) => {
    await using served = await serveOpen();
    served.node.stand("STANDBY", "scheduler", "node-b");
    const answer = await served.app.inject({ method, url: "/v1/jobs", payload: { op: "x" } });
    expect(answer.statusCode).toBe(409);
    expect(answer.json()).toEqual(refusal);
    expect(answer.headers["content-type"]).toMatch(/^application\/json/);
  });

  it.each([
    ["a body that is not JSON", "/v1/jobs", { "content-type": "application/json" }, "{ nonsense"],
    ["a kind of body that nobody takes", "/v1/jobs", { "content-type": "image/png" }, "x"],
    ["a body that is too large", "/v1/jobs", { "content-type": "application/json" }, "x".repeat(2_000_000)],
    ["a path that nobody has", "/v1/no/such/thing", {}, ""],
    ["a path that cannot be decoded", "/v1/%zz", {}, ""],
    ["a path with escaped letters", "/%761/jobs", {}, ""],
    ["a whole URL", "http://localhost/v1/jobs", {}, ""],
    ["a query", "/v1/jobs?x=%zz", {}, ""],
  ])("is so with %s, too: the role comes first", async (_name, url, headers, payload) => {
    await using served = await serveOpen();
    served.node.stand("STANDBY", "scheduler", "node-b");
    const answer = await served.app.inject({ method: "POST", url, headers, payload });
    expect(answer.json()).toEqual(refusal);
    expect(answer.statusCode).toBe(409);
    expect(answer.headers["x-holdfast-role"]).toBe("STANDBY");
  });

  it("says null where the leader is unknown", async () => {
    await using served = await serveOpen();
    const unknown = { ...refusal, leader_id: null, leader_url: null, leader_epoch: null };
    served.node.stand("STANDBY", "scheduler", null);
    expect((await served.app.inject({ method: "POST", url: "/v1/jobs" })).json()).toEqual(unknown);
    served.node.postures.clear(); // It has never heard of the role.
    expect((await served.app.inject({ method: "POST", url: "/v1/jobs" })).json()).toEqual(unknown);
  });

  it("belongs to scheduler, whatever the primary role is", async () => {
    await using served = await serveOpen({ cluster: { primaryRole: "billing" } });
    served.node.stand("LEADER", "billing");
    served.node.stand("STANDBY", "scheduler", "node-b");
    const answer = await served.app.inject({ method: "POST", url: "/v1/jobs" });
    expect(answer.json()).toEqual(refusal);
    expect(answer.headers["x-holdfast-role"]).toBe("LEADER"); // The headers speak of the primary role.
  });

  it("is not confused with a read, or with another path", async () => {
    await using served = await serveOpen();
    served.node.stand("STANDBY", "scheduler", "node-b");
    expect((await served.app.inject({ url: "/v1/jobs" })).json()).toMatchObject({ items: [] });
    expect((await served.app.inject({ url: "/v1/nothing" })).json()).toMatchObject({ error: "NOT_FOUND" });
    expect((await served.app.inject({ method: "POST", url: "/v1" })).statusCode).toBe(404);
    expect((await served.app.inject({ method: "POST", url: "/v10/jobs" })).statusCode).toBe(404);
  });
});

describe("a write below /v1/ on the leader", () => {
  it("is not found where there is no such endpoint", async () => {
    await using served = await serveOpen();
    const answer = await served.app.inject({ method: "POST", url: "/v1/nothing", payload: { op: "x" } });
    expect(answer.statusCode).toBe(404);
    expect(answer.json()).toMatchObject({ error: "NOT_FOUND" });
  });

  it("is refused as DRAINING while it drains", async () => {
    await using served = await serveOpen();
    served.node.stand("DRAINING");
    const answer = await served.app.inject({ method: "POST", url: "/v1/jobs" });
    expect(answer.statusCode).toBe(503);
    expect(answer.json()).toEqual({ error: "DRAINING", message: expect.any(String) });
  });
});

describe("a route that only ends work", () => {
  const ask = async (stand: (node: StandInNode) => void, config: { readonly endsWork?: boolean }) => {
    const node = new StandInNode();
    await node.access.refresh();
    stand(node);
    await using served = serve(node);
    served.app.post("/v1/ended", { config: { permission: "agent", ...config } }, async () => ({ taken: true }));
    const answer = await served.app.inject({ method: "POST", url: "/v1/ended", payload: {} });
    return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
  };
  const ends = { endsWork: true };

  it("is taken by the leader, and by a leader that drains for as long as its gate is open", async () => {
    expect(await ask((node) => node.stand("LEADER"), ends)).toEqual({ status: 200, body: { taken: true } });
    expect(await ask((node) => node.stand("DRAINING"), ends)).toEqual({ status: 200, body: { taken: true } });
  });

  it("is the exception: without that word a leader that drains refuses", async () => {
    expect(await ask((node) => node.stand("DRAINING"), {})).toMatchObject({ status: 503, body: { error: "DRAINING" } });
  });

  it("is refused by a leader that drains once its gate is shut", async () => {
    const shut = (node: StandInNode): void => {
      node.stand("DRAINING");
      const posture = node.postures.get("scheduler");
      if (posture !== undefined) posture.isLeader = false;
    };
    expect(await ask(shut, ends)).toMatchObject({ status: 503, body: { error: "DRAINING" } });
  });

  it("is no business of a node that does not lead, whether it drains or not", async () => {
    for (const role of ["STANDBY", "DRAINING"] as const) {
      const outcome = await ask((node) => node.stand(role, "scheduler", "node-b"), ends);
      expect(outcome).toEqual({ status: 409, body: refusal });
    }
  });
});

it("a node that drains and does not lead is not the leader", async () => {
  await using served = await serveOpen();
  served.node.stand("DRAINING", "scheduler", "node-b");
  expect((await served.app.inject({ method: "POST", url: "/v1/jobs" })).json()).toEqual(refusal);
});

describe("access comes before the role", () => {
  it.each([
    ["nobody", null, 401],
    ["viewer", "viewer", 403],
    ["operator", "operator", 409],
    ["agent", "agent", 409],
    ["admin", "admin", 409],
  ] as const)("as %s", async (_who, role, status) => {
    const node = new StandInNode();
    await node.token("viewer", [], "somebody");
    const headers = role === null ? {} : await node.bearer(role);
    node.stand("STANDBY", "scheduler", "node-b");
    await using served = serve(node);
    for (const url of ["/v1/nothing", "/v1/%zz"]) {
      expect((await served.app.inject({ method: "POST", url, headers })).statusCode).toBe(status);
    }
  });
});
