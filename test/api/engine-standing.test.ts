import { describe, expect, it } from "vitest";
import { NotLeaderError } from "../../src/errors.js";
import type { ServedNode } from "../../src/server/served-node.js";
import { type Served, serveOpen } from "./served.js";
import { awayAtOnce } from "./stand-in-node.js";

const changes: readonly (readonly [string, object])[] = [
  ["/messages", { connection: "adt-in", body: "MSH|" }],
  ["/messages/1/replay", {}],
  ["/messages/replay", { ids: ["1"] }],
  ["/connections/lab/stop", {}],
  ["/config/reload", {}],
];

/** A node that leads role engine. */
async function serveLeader(): Promise<Served> {
  const served = await serveOpen();
  served.node.stand("LEADER", "engine");
  return served;
}

describe("a leader of engine", () => {
  it.each(changes)("that has no graph refuses POST %s, and says what to do", async (url, payload) => {
    await using served = await serveLeader();
    const answer = await served.app.inject({ method: "POST", url, payload });
    expect(answer.statusCode).toBe(409);
    expect(answer.json()).toEqual({
      error: "REFUSED",
      message: expect.stringContaining("holdfast serve --config DIR"),
    });
  });

  it("that is still starting its graph is busy, and no stranger to its role", async () => {
    await using served = await serveLeader();
    const starting = {
      get steering(): never {
        throw new NotLeaderError("The graph is being started by its new leader: try again.", { role: "engine" });
      },
    };
    served.node.engine = { ...served.node.engine, engine: starting as unknown as ServedNode["engine"]["engine"] };
    const answer = await served.app.inject({ method: "POST", url: "/connections/lab/restart" });
    expect(answer.statusCode).toBe(503);
    expect(answer.json()).toEqual({
      error: "TOO_BUSY",
      message: "The graph is being started by its new leader: try again in a moment.",
    });
  });

  it("that drains takes nothing new", async () => {
    await using served = await serveOpen();
    served.node.stand("DRAINING", "engine");
    for (const [url, payload] of changes) {
      const answer = await served.app.inject({ method: "POST", url, payload });
      expect([url, answer.statusCode]).toEqual([url, 503]);
      expect(answer.json()).toMatchObject({ error: "DRAINING" });
    }
  });

  it("whose connection takes longer to start than anybody waits says 202, and what it is meanwhile", async () => {
    await using served = await serveOpen({}, { controlWaitMs: 20 });
    served.node.stand("LEADER", "engine");
    const view = {
      name: "archive",
      direction: "inbound",
      transport: "sftp",
      state: "starting",
      reason: null,
      since: 1_750_000_000_000,
      connections: 0,
      toldAt: null,
    } as const;
    let finish: (seen: typeof view) => void = () => undefined;
    const starting = new Promise<typeof view>((resolve) => {
      finish = resolve;
    });
    const engine = { steering: { start: async () => await starting } };
    served.node.engine = {
      ...served.node.engine,
      engine: engine as unknown as ServedNode["engine"]["engine"],
      connections: async () => await Promise.resolve([view]),
    };
    const answer = await served.app.inject({ method: "POST", url: "/connections/archive/start" });
    expect(answer.statusCode).toBe(202);
    expect(answer.json()).toMatchObject({ name: "archive", state: "starting", since: 1_750_000_000 });
    expect(served.node.work.count).toBe(1); // A drain waits for it.
    finish(view);
    await expect.poll(() => served.node.work.count).toBe(0);
  });
});

describe("while the database is away", () => {
  it.each(["/messages", "/messages/1", "/messages/1/body", "/connections", "/config/version"])(
    "GET %s says so, and does not repeat the database's words",
    async (url) => {
      await using served = await serveOpen();
      served.node.trouble = awayAtOnce;
      const answer = await served.app.inject({ url });
      expect(answer.statusCode).toBe(503);
      expect(answer.json()).toMatchObject({ error: "DATABASE_AWAY" });
      expect(answer.body).not.toContain("10.1.2.3");
    },
  );
});

it("a node without a graph knows of no connection and of no message, and says so", async () => {
  await using served = await serveOpen();
  const nothing = { items: [], next_cursor: null };
  expect((await served.app.inject({ url: "/messages" })).json()).toEqual(nothing);
  expect((await served.app.inject({ url: "/connections" })).json()).toEqual(nothing);
  expect((await served.app.inject({ url: "/config/version" })).json()).toEqual({
    version: 0,
    node_id: "node-a",
    node_version: null,
    hash: null,
    converged: true,
    nodes: [],
    references: [],
  });
});
