import { describe, expect, it } from "vitest";
import type { Redriven } from "../../src/queue/redriving.js";
import { serve, serveOpen } from "./served.js";
import { StandInNode } from "./stand-in-node.js";

/** Buries a message of that body in the node's queue. */
function bury(
  node: StandInNode,
  body: Buffer | string,
  { queue = "orders", role = "scheduler", lane = "x" } = {},
): string {
  const { queueTables: tables } = node;
  tables.own(queue, role);
  const segment = tables.openSegmentOf(queue) ?? tables.openSegment(queue);
  const made = tables.find(queue, "ingress", lane) ?? tables.addLane(queue, "ingress", lane);
  const message = { lane: made.id, position: made.newest + 1, key: "k", headers: { type: "hf_canary" } };
  tables.append({ queue, segment, messages: [{ ...message, body: Buffer.from(body) }], waking: [] });
  tables.bury(made, "no such account", 5);
  return tables.deadLetters.at(-1)?.id ?? "";
}

/** A queue of this process that says what it was told to redrive. */
function make(node: StandInNode, name: string, role: string): string[] {
  const told: string[] = [];
  node.queues.add({
    name,
    role,
    isOpen: true,
    depthHere: () => ({ ingress: 0 }),
    heed: async () => await Promise.resolve(),
    redrive: async (ids): Promise<readonly Redriven[]> => {
      told.push(...ids);
      return await Promise.resolve(ids.map((id) => ({ id, stage: "ingress", lane: "x", position: 9 })));
    },
  });
  return told;
}

const refusal = {
  error: "NOT_LEADER",
  leader_id: "node-b",
  leader_url: "http://node-b:7400",
  leader_epoch: 7,
  node_id: "node-a",
  role: "STANDBY",
};

describe("GET /dead-letters", () => {
  it("shows all about them but what they say, newest first, on every node", async () => {
    await using served = await serveOpen();
    served.node.stand("STANDBY", "scheduler", "node-b");
    bury(served.node, "hf_canary 1");
    bury(served.node, "hf_canary 22", { queue: "parcels", lane: "y/z" });
    const answer = await served.app.inject({ url: "/dead-letters" });
    expect(answer.body).not.toContain("hf_canary");
    const letter = {
      id: "2",
      queue: "parcels",
      role: "scheduler",
      stage: "ingress",
      lane: "y/z",
      position: 1,
      key: "k",
      size: 12,
      reason: "no such account",
      attempts: 5,
      reclaims: 0,
      died_at: expect.any(Number),
      redriven_at: null,
      redriven_to: null,
    };
    expect(answer.json()).toEqual({ items: [letter, expect.objectContaining({ id: "1" })], next_cursor: null });
    expect((await served.app.inject({ url: "/dead-letters/2" })).json()).toEqual(letter);
    const idsOf = async (query: string) =>
      (await served.app.inject({ url: `/dead-letters?${query}` }))
        .json<{ items: { id: string }[] }>()
        .items.map(({ id }) => id);
    expect(await idsOf("queue=orders")).toEqual(["1"]);
    expect(await idsOf("lane=y%2Fz&stage=ingress")).toEqual(["2"]);
    expect(await idsOf("limit=1&cursor=2")).toEqual(["1"]);
    expect((await served.app.inject({ url: "/dead-letters?limit=1" })).json()).toMatchObject({ next_cursor: "2" });
  });

  it.each(["queue=A", "lane=%00", "limit=0", "cursor=x", "body=1"])("refuses ?%s", async (query) => {
    await using served = await serveOpen();
    expect((await served.app.inject({ url: `/dead-letters?${query}` })).statusCode).toBe(422);
  });

  it("does not know what is not there", async () => {
    await using served = await serveOpen();
    for (const url of ["/dead-letters/1", "/dead-letters/x", "/dead-letters/1/body"]) {
      const answer = await served.app.inject({ url });
      expect(answer.statusCode).toBe(404);
      expect(answer.json()).toMatchObject({
        error: "NOT_FOUND",
        message: expect.stringContaining("There is no dead letter"),
      });
    }
  });
});

describe("GET /dead-letters/{id}/body", () => {
  it("is for whom it was granted by name, and each view is in the audit", async () => {
    const node = new StandInNode();
    const id = bury(node, "hf_canary ☃");
    const admin = await node.bearer("admin");
    const { secret } = await node.access.create(
      { name: "reader", role: "viewer", grants: ["messages:read"], lifetimeMs: null },
      "test",
    );
    await node.access.refresh();
    await using served = serve(node);
    const url = `/dead-letters/${id}/body`;
    expect((await served.app.inject({ url, headers: admin })).statusCode).toBe(403);
    const answer = await served.app.inject({ url, headers: { authorization: `Bearer ${secret}` } });
    expect(answer.json()).toEqual({ id, headers: { type: "hf_canary" }, encoding: "utf8", body: "hf_canary ☃" });
    expect(node.auditRows[0]).toMatchObject({
      actor: "reader",
      action: "GET /dead-letters/:id/body",
      target: id,
      outcome: "200",
    });
    expect(JSON.stringify([node.auditRows, node.lines])).not.toContain("hf_canary");
  });

  it("is base64 where it is no text", async () => {
    await using served = await serveOpen();
    const id = bury(served.node, Buffer.from([0xff, 0xfe, 0x00]));
    expect((await served.app.inject({ url: `/dead-letters/${id}/body` })).json()).toMatchObject({
      encoding: "base64",
      body: "//4A",
    });
  });
});

describe("POST /dead-letters/{id}/redrive", () => {
  it("is done by the leader of its queue's role, and says where it is now", async () => {
    await using served = await serveOpen();
    const { app, node } = served;
    const told = make(node, "orders", "billing");
    const id = bury(node, "x", { role: "billing" });
    node.stand("STANDBY", "scheduler", "node-b");
    node.stand("LEADER", "billing");
    const answer = await app.inject({ method: "POST", url: `/dead-letters/${id}/redrive` });
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({ id, queue: "orders", stage: "ingress", lane: "x", position: 9 });
    expect(told).toEqual([id]);
  });

  it.each([
    ["nothing", {}, ""],
    ["a body that is not JSON", { "content-type": "application/json" }, "{ nonsense"],
    ["a body that is too large", { "content-type": "application/json" }, "x".repeat(2_000_000)],
    ["a kind of body that nobody takes", { "content-type": "image/png" }, "x"],
  ])("elsewhere is answered with the way to that leader, with %s", async (_name, headers, payload) => {
    await using served = await serveOpen();
    const { app, node } = served;
    const told = make(node, "orders", "billing");
    const id = bury(node, "x", { role: "billing" });
    node.stand("LEADER");
    node.stand("STANDBY", "billing", "node-b");
    const answer = await app.inject({ method: "POST", url: `/dead-letters/${id}/redrive`, headers, payload });
    expect(answer.statusCode).toBe(409);
    expect(answer.json()).toEqual(refusal);
    expect(told).toEqual([]);
  });

  it("of a letter that is not there is 404 from the leader, and from a standby the way to the leader", async () => {
    await using served = await serveOpen();
    const { app, node } = served;
    for (const id of ["12", "none"]) {
      const url = `/dead-letters/${id}/redrive`;
      node.stand("LEADER");
      expect((await app.inject({ method: "POST", url })).json()).toMatchObject({ error: "NOT_FOUND" });
      node.stand("STANDBY", "scheduler", "node-b");
      expect((await app.inject({ method: "POST", url })).json()).toEqual(refusal);
    }
  });

  it("is refused in words where the leader's process has not made the queue", async () => {
    await using served = await serveOpen();
    const id = bury(served.node, "x");
    const answer = await served.app.inject({ method: "POST", url: `/dead-letters/${id}/redrive` });
    expect(answer.statusCode).toBe(409);
    expect(answer.json()).toEqual({ error: "REFUSED", message: expect.stringContaining('has made no queue "orders"') });
  });

  it("is refused while the leader drains, and with a body that says something", async () => {
    await using served = await serveOpen();
    const { app, node } = served;
    const told = make(node, "orders", "scheduler");
    const url = `/dead-letters/${bury(node, "x")}/redrive`;
    expect((await app.inject({ method: "POST", url, payload: { to: "y" } })).statusCode).toBe(422);
    node.stand("DRAINING");
    expect((await app.inject({ method: "POST", url })).json()).toMatchObject({ error: "DRAINING" });
    expect(told).toEqual([]);
  });

  it("has its line in the audit", async () => {
    const node = new StandInNode();
    make(node, "orders", "scheduler");
    const id = bury(node, "x");
    const headers = await node.bearer("operator");
    await using served = serve(node);
    await served.app.inject({ method: "POST", url: `/dead-letters/${id}/redrive`, headers });
    expect(node.auditRows).toMatchObject([{ action: "POST /dead-letters/:id/redrive", target: id, outcome: "200" }]);
  });
});
