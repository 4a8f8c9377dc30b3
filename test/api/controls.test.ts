import { describe, expect, it } from "vitest";
import { serve, serveOpen } from "./served.js";
import { awayAtOnce, StandInNode } from "./stand-in-node.js";

describe("a control", () => {
  interface Meant {
    readonly kind: string;
    readonly nodeId?: string;
    readonly role?: string;
    readonly to?: string;
  }

  it.each<[string, object | undefined, Meant]>([
    ["/cluster/nodes/node-b/drain", undefined, { kind: "drain", nodeId: "node-b" }],
    ["/cluster/nodes/host%3A12%3Aab%20c/resume", {}, { kind: "resume", nodeId: "host:12:ab c" }],
    ["/cluster/leaders/scheduler/step-down", undefined, { kind: "step_down", role: "scheduler" }],
    ["/cluster/leaders/scheduler/step-down", { to: "node-c" }, { kind: "step_down", role: "scheduler", to: "node-c" }],
  ])("%s goes to the node that is meant, in the name of the caller", async (url, payload, asking) => {
    const node = new StandInNode();
    const headers = await node.bearer("operator");
    await using served = serve(node);
    const request = { method: "POST", url, headers } as const;
    const answer = await served.app.inject(payload === undefined ? request : { ...request, payload });
    expect(answer.statusCode).toBe(200);
    expect(node.asked).toMatchObject([{ ...asking, requestedBy: "operator-token", waitMs: 10_000 }]);
    expect(answer.json()).toEqual({
      request_id: "12",
      kind: asking.kind,
      node_id: asking.nodeId ?? "node-a",
      role: asking.role ?? null,
      to: asking.to ?? null,
      requested_by: "operator-token",
      requested_at: 1_750_000_100,
      acted_at: 1_750_000_200,
    });
  });

  it("that the other node has not acted on yet is accepted", async () => {
    await using served = await serveOpen();
    served.node.actedAt = null;
    const answer = await served.app.inject({ method: "POST", url: "/cluster/nodes/node-b/drain?wait_ms=5" });
    expect(answer.statusCode).toBe(202);
    expect(answer.json()).toMatchObject({ acted_at: null });
    expect(served.node.asked).toMatchObject([{ waitMs: 5 }]);
  });

  it("reaches a node that drains: it must hear that it should resume", async () => {
    await using served = await serveOpen();
    served.node.work.refuse();
    served.node.ready.draining = true;
    served.node.stand("DRAINING");
    const answer = await served.app.inject({ method: "POST", url: "/cluster/nodes/node-a/resume" });
    expect(answer.statusCode).toBe(200);
  });

  it("does not count as work, which its own drain would wait for", async () => {
    await using served = await serveOpen();
    const { node, app } = served;
    const counts: number[] = [];
    node.asked.push = (...asking) => {
      counts.push(node.work.count);
      return asking.length;
    };
    await app.inject({ method: "POST", url: "/cluster/nodes/node-a/drain" });
    expect(counts).toEqual([0]);
  });

  it.each([
    ["/cluster/nodes/node-b/drain", { force: true }],
    ["/cluster/leaders/scheduler/step-down", { to: 7 }],
    ["/cluster/leaders/scheduler/step-down", { too: "node-b" }],
    ["/cluster/nodes/node-b/drain?wait_ms=-1", {}],
    ["/cluster/nodes/node-b/drain?wait_ms=60001", {}],
    ["/cluster/nodes/node-b/drain?wait=5", {}],
  ])("%s refuses %j", async (url, payload) => {
    await using served = await serveOpen();
    const answer = await served.app.inject({ method: "POST", url, payload });
    expect(answer.statusCode).toBe(422);
    expect(served.node.asked).toEqual([]);
  });

  it.each(["/cluster/nodes/node-b/drain", "/cluster/leaders/scheduler/step-down"])(
    "%s may come without a body, but null is one, and not the right one",
    async (url) => {
      await using served = await serveOpen();
      const headers = { "content-type": "application/json" };
      const answer = await served.app.inject({ method: "POST", url, headers, payload: "null" });
      expect(answer.statusCode).toBe(422);
      expect(answer.json()).toMatchObject({ error: "INVALID_REQUEST", message: "the body must be an object." });
      expect(served.node.asked).toEqual([]);
      expect((await served.app.inject({ method: "POST", url })).statusCode).toBe(200);
    },
  );

  it("says at once that the database is away", async () => {
    await using served = await serveOpen();
    served.node.trouble = awayAtOnce;
    served.node.ready.database = false;
    const answer = await served.app.inject({ method: "POST", url: "/cluster/nodes/node-b/drain" });
    expect(answer.statusCode).toBe(503);
    expect(answer.json()).toMatchObject({ error: "DATABASE_AWAY" });
  });

  it("that was sent and never answered may have been heard, and that is what it says", async () => {
    await using served = await serveOpen({}, { databaseWaitMs: 20 });
    served.node.cluster.ask = async () => await new Promise<never>(() => undefined);
    const answer = await served.app.inject({ method: "POST", url: "/cluster/nodes/node-b/drain?wait_ms=0" });
    expect(answer.statusCode).toBe(503);
    expect(answer.json()).toMatchObject({ error: "UNKNOWN_OUTCOME" });
  });
});
