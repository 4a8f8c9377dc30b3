import { describe, expect, it } from "vitest";
import type { MemoryLane } from "../../src/store/memory/queue-tables.js";
import { serve, serveOpen } from "./served.js";
import { awayAtOnce, StandInNode } from "./stand-in-node.js";

/** Puts a lane with so many messages into the node's queue, which is the scheduler's unless it has another owner. */
function fill(node: StandInNode, lane: string, { queue = "orders", stage = "ingress", messages = 1 } = {}): MemoryLane {
  const { queueTables: tables } = node;
  if (!tables.queues.has(queue)) tables.own(queue, "scheduler");
  const segment = tables.openSegmentOf(queue) ?? tables.openSegment(queue);
  const made = tables.addLane(queue, stage, lane);
  const bodies = Array.from({ length: messages }, (_, index) => ({
    lane: made.id,
    position: index + 1,
    key: `${queue} ${stage} ${lane} ${index}`,
    headers: { type: "secret header" },
    body: Buffer.from(`secret body ${index}`),
  }));
  tables.append({ queue, segment, messages: bodies, waking: [] });
  return made;
}

const block = (lane: MemoryLane): MemoryLane =>
  Object.assign(lane, { blocked: true, attempts: 5, lastError: "no such account" });

interface List {
  readonly items: readonly Record<string, unknown>[];
  readonly next_cursor: string | null;
}

describe("GET /queue/stages", () => {
  it("shows each stage with its lanes together, in pages", async () => {
    await using served = await serveOpen();
    fill(served.node, "a", { messages: 3 });
    block(fill(served.node, "b", { messages: 2 }));
    fill(served.node, "a", { stage: "outbound", messages: 0 });
    fill(served.node, "a", { queue: "letters", messages: 1 });
    const { items } = (await served.app.inject({ url: "/queue/stages" })).json<List>();
    expect(items).toEqual([
      {
        queue: "letters",
        stage: "ingress",
        lanes: 1,
        depth: 1,
        paused: 0,
        blocked: 0,
        role: "scheduler",
        oldest_seconds: expect.any(Number),
      },
      {
        queue: "orders",
        stage: "ingress",
        lanes: 2,
        depth: 5,
        paused: 0,
        blocked: 1,
        role: "scheduler",
        oldest_seconds: expect.any(Number),
      },
      {
        queue: "orders",
        stage: "outbound",
        lanes: 1,
        depth: 0,
        paused: 0,
        blocked: 0,
        role: "scheduler",
        oldest_seconds: null,
      },
    ]);
    const first = (await served.app.inject({ url: "/queue/stages?limit=2" })).json<List>();
    expect(first.next_cursor).toBe("orders/ingress");
    const second = await served.app.inject({ url: `/queue/stages?limit=2&cursor=${first.next_cursor}` });
    expect(second.json<List>().items).toMatchObject([{ stage: "outbound" }]);
  });
});

describe("GET /queue/lanes", () => {
  it("shows every lane with what holds it up", async () => {
    await using served = await serveOpen();
    fill(served.node, "a", { messages: 3 });
    block(fill(served.node, "b/c ☃"));
    const { items, next_cursor: next } = (await served.app.inject({ url: "/queue/lanes" })).json<List>();
    expect(next).toBeNull();
    expect(items).toEqual([
      {
        id: "1",
        queue: "orders",
        role: "scheduler",
        stage: "ingress",
        lane: "a",
        depth: 3,
        oldest_seconds: expect.any(Number),
        state: "ready",
        attempts: 0,
        reclaims: 0,
        wait_ms: 0,
        paused: false,
        blocked: false,
        last_error: null,
      },
      expect.objectContaining({ lane: "b/c ☃", state: "blocked", blocked: true, last_error: "no such account" }),
    ]);
  });

  it("says null for the age of an empty lane", async () => {
    await using served = await serveOpen();
    fill(served.node, "a", { messages: 0 });
    const { items } = (await served.app.inject({ url: "/queue/lanes" })).json<List>();
    expect(items).toMatchObject([{ depth: 0, oldest_seconds: null, state: "idle" }]);
  });

  it("comes in pages, of a queue, a stage or a state alone", async () => {
    await using served = await serveOpen();
    const names = ["e", "d", "c", "b", "a"];
    for (const name of names) fill(served.node, name);
    fill(served.node, "p", { queue: "parcels" });
    fill(served.node, "o", { stage: "outbound", messages: 0 });
    const seen: unknown[] = [];
    let cursor = "";
    do {
      const url = `/queue/lanes?queue=orders&stage=ingress&limit=2${cursor}`;
      const page = (await served.app.inject({ url })).json<List>();
      seen.push(...page.items.map(({ lane }) => lane));
      cursor = page.next_cursor === null ? "" : `&cursor=${page.next_cursor}`;
    } while (cursor !== "");
    expect(seen).toEqual(names);
    const lanesOf = async (query: string) =>
      (await served.app.inject({ url: `/queue/lanes?${query}` })).json<List>().items.map(({ lane }) => lane);
    expect(await lanesOf("queue=parcels")).toEqual(["p"]);
    expect(await lanesOf("state=idle")).toEqual(["o"]);
    expect(await lanesOf("queue=none")).toEqual([]);
  });

  it.each(["state=odd", "queue=A+B", "stage=", "limit=0", "limit=1001", "cursor=x", "lane=x"])(
    "refuses ?%s",
    async (query) => {
      await using served = await serveOpen();
      const answer = await served.app.inject({ url: `/queue/lanes?${query}` });
      expect(answer.statusCode).toBe(422);
      expect(answer.json()).toMatchObject({ error: "INVALID_REQUEST" });
    },
  );

  it("is 503 while the database is away", async () => {
    await using served = await serveOpen();
    served.node.trouble = awayAtOnce;
    expect((await served.app.inject({ url: "/queue/lanes" })).json()).toMatchObject({ error: "DATABASE_AWAY" });
  });
});

describe("POST /queue/lanes/{lane}/pause, resume and skip", () => {
  it("are taken by any node, and answer with the lane as it is now", async () => {
    await using served = await serveOpen();
    const { app, node } = served;
    node.stand("STANDBY", "scheduler", "node-b");
    const lane = fill(node, "a", { messages: 2 });
    const paused = await app.inject({ method: "POST", url: "/queue/lanes/a/pause" });
    expect(paused.statusCode).toBe(200);
    expect(paused.json()).toMatchObject({ lane: "a", state: "paused", paused: true, depth: 2 });
    expect(lane).toMatchObject({ paused: true, steered: true });
    expect((await app.inject({ method: "POST", url: "/queue/lanes/a/resume", payload: {} })).json()).toMatchObject({
      state: "ready",
      paused: false,
    });
    block(lane);
    expect((await app.inject({ method: "POST", url: "/queue/lanes/a/skip" })).json()).toMatchObject({
      state: "ready",
      depth: 1,
      attempts: 0,
    });
    expect(node.queueTables.deadLetters).toMatchObject([{ reason: "no such account", attempts: 5 }]);
  });

  it("refuse to skip a lane that is not blocked", async () => {
    await using served = await serveOpen();
    fill(served.node, "a");
    const answer = await served.app.inject({ method: "POST", url: "/queue/lanes/a/skip" });
    expect(answer.statusCode).toBe(409);
    expect(answer.json()).toEqual({ error: "REFUSED", message: expect.stringContaining("is not blocked") });
  });

  it("find a lane of any name, escaped", async () => {
    await using served = await serveOpen();
    for (const name of ["a/b", "50% off?", "東京 ☃", "#", `${"☃".repeat(200)}`]) {
      fill(served.node, name);
      const url = `/queue/lanes/${encodeURIComponent(name)}/pause`;
      const answer = await served.app.inject({ method: "POST", url });
      expect(answer.json()).toMatchObject({ lane: name, paused: true });
    }
  });

  it("ask which lane is meant where the name alone does not say it", async () => {
    await using served = await serveOpen();
    const { app, node } = served;
    fill(node, "a");
    fill(node, "a", { stage: "outbound" });
    fill(node, "a", { queue: "parcels" });
    const answer = await app.inject({ method: "POST", url: "/queue/lanes/a/pause" });
    expect(answer.statusCode).toBe(422);
    const candidates = [
      { queue: "orders", stage: "ingress" },
      { queue: "orders", stage: "outbound" },
      { queue: "parcels", stage: "ingress" },
    ];
    expect(answer.json()).toEqual({
      error: "INVALID_REQUEST",
      message: expect.stringContaining("queue=orders&stage=outbound"),
      details: { candidates },
    });
    expect([...node.queueTables.lanes.values()].some(({ paused }) => paused)).toBe(false);
    const told = await app.inject({ method: "POST", url: "/queue/lanes/a/pause?queue=orders&stage=outbound" });
    expect(told.json()).toMatchObject({ queue: "orders", stage: "outbound", paused: true });
    expect((await app.inject({ method: "POST", url: "/queue/lanes/a/pause?queue=parcels" })).statusCode).toBe(200);
  });

  it("do not know a lane that is not there", async () => {
    await using served = await serveOpen();
    fill(served.node, "a");
    for (const url of ["/queue/lanes/b/pause", "/queue/lanes/a/resume?queue=none", "/queue/lanes/A/skip"]) {
      const answer = await served.app.inject({ method: "POST", url });
      expect(answer.statusCode).toBe(404);
      expect(answer.json()).toMatchObject({ error: "NOT_FOUND", message: expect.stringContaining("There is no lane") });
    }
  });

  it("refuse what is no lane's name, and a body that says something", async () => {
    await using served = await serveOpen();
    fill(served.node, "a");
    const status = async (url: string, payload?: object) =>
      (await served.app.inject({ method: "POST", url, ...(payload === undefined ? {} : { payload }) })).statusCode;
    expect(await status("/queue/lanes/%00/pause")).toBe(422);
    expect(await status(`/queue/lanes/${"x".repeat(201)}/pause`)).toBe(422);
    expect(await status(`/queue/lanes/${"x".repeat(2_000)}/pause`)).toBe(404);
    expect(await status("/queue/lanes/a/pause?stage=x+y")).toBe(422);
    expect(await status("/queue/lanes/a/pause", { for: "ever" })).toBe(422);
  });

  it("have their line in the audit before they are done: without it they are not", async () => {
    const node = new StandInNode();
    const headers = await node.bearer("operator");
    const lane = fill(node, "a");
    await using served = serve(node);
    await served.app.inject({ method: "POST", url: "/queue/lanes/a/pause", headers });
    expect(node.auditRows).toMatchObject([
      { actor: "operator-token", action: "POST /queue/lanes/:lane/pause", target: "orders/ingress/a", outcome: "200" },
    ]);
    node.access.beginAudit = awayAtOnce;
    const answer = await served.app.inject({ method: "POST", url: "/queue/lanes/a/resume", headers });
    expect(answer.statusCode).toBe(503);
    expect(lane.paused).toBe(true);
  });

  it("are not served by a node without the gateway", async () => {
    await using served = await serveOpen({ cluster: { roles: ["worker"] } });
    expect((await served.app.inject({ url: "/queue/lanes" })).statusCode).toBe(404);
    expect((await served.app.inject({ url: "/dead-letters" })).statusCode).toBe(404);
  });
});
