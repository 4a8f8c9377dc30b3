import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { type ServerEvent, ServerEvents } from "../support/server-events.js";
import { RawConnection } from "./raw-connection.js";
import { type Listening, listen, serveOpen } from "./served.js";
import { awayAtOnce, lease, nodeRow, type StandInNode, transition } from "./stand-in-node.js";

const path = "/cluster/events";
type Streams = Pick<Listening, "server">;

const hear = async ({ server }: Streams, more: { lastEventId?: string; token?: string } = {}): Promise<ServerEvents> =>
  await ServerEvents.open(server.url, { path, ...more });

/** The next event of that name; whatever else is said before is passed over. */
async function next(events: ServerEvents, name: string): Promise<ServerEvent | null> {
  for (;;) {
    const event = await events.next();
    if (event === null || event.event === name) return event;
  }
}

function settle(node: StandInNode): void {
  node.nodes = [nodeRow("node-a"), nodeRow("node-b", { status: "draining" })];
  node.leases = [lease("scheduler", "node-a"), lease("engine", null)];
}

/** How often the database was asked who leads. */
function countLooks(node: StandInNode): { readonly looks: number } {
  const leases = node.cluster.leases.bind(node.cluster);
  const counted = { looks: 0 };
  Object.assign(node.cluster, {
    leases: async () => {
      counted.looks += 1;
      return await leases();
    },
  });
  return counted;
}

/** Long enough that only the news can have caused what comes. */
const unhurried = { clusterLookMs: 600_000 };

describe("GET /cluster/events", () => {
  it("says hello, and then who leads and who is here, as the endpoints of that name do", async () => {
    await using served = await listen({}, unhurried);
    settle(served.node);
    await using events = await hear(served);
    const hello = await events.next();
    expect(hello).toMatchObject({ event: "hello", data: { node_id: "node-a", version: expect.any(String) as string } });
    const leaders = await events.next();
    const { items } = (await (await fetch(`${served.server.url}/cluster/leaders`)).json()) as { items: object[] };
    expect(leaders).toEqual({ event: "leaders", id: "", data: { items, next_cursor: null, now: expect.any(Number) } });
    const nodes = await events.next();
    const seen = (await (await fetch(`${served.server.url}/cluster/nodes`)).json()) as object;
    // By the database's clock: the beat of a node, and how long ago that was.
    expect(nodes).toEqual({ event: "nodes", id: "", data: { ...seen, now: expect.closeTo(1_750_000_123.5, 0) } });
    expect(events.headers.get("content-type")).toMatch("text/event-stream");
    expect(events.headers.get("x-accel-buffering")).toBe("no");
  });

  it("tells at once of a role that changed hands, with its line of the history, once", async () => {
    await using served = await listen({}, unhurried);
    const { node } = served;
    settle(node);
    node.transitions = [transition(1)];
    await using events = await hear(served);
    await next(events, "nodes");
    node.leases = [lease("scheduler", "node-b", { epoch: 8n }), lease("engine", null)];
    node.transitions = [transition(2, { nodeId: "node-b" as never, gapMs: 6.5 }), transition(1)];
    node.leadership.tell();
    expect((await next(events, "leaders"))?.data).toMatchObject({
      items: [
        { role: "engine", leader_id: null },
        { role: "scheduler", leader_id: "node-b", leader_epoch: 8 },
      ],
    });
    const line = await next(events, "history");
    expect(line).toMatchObject({ id: "2", data: { id: "2", node_id: "node-b", gap_seconds: 0.0065 } });
    // A line that was committed later under a lower number, as two roles can: not lost, and nothing is said twice.
    node.transitions = [transition(4), transition(2), transition(1)];
    node.leadership.tell();
    expect(await next(events, "history")).toMatchObject({ id: "4" });
    node.transitions = [transition(4), transition(3), transition(2), transition(1)];
    node.leadership.tell();
    expect(await next(events, "history")).toMatchObject({ id: "3" });
  });

  it("tells of a change that comes right after who leads was read for the first time", async () => {
    await using served = await listen({}, { clusterLookMs: 10 });
    const { node } = served;
    settle(node);
    const leases = node.cluster.leases.bind(node.cluster);
    const change = async () => {
      const before = await leases();
      node.leases = [lease("scheduler", "node-b", { epoch: 8n }), lease("engine", null)];
      node.transitions = [transition(1, { nodeId: "node-b" as never })];
      return before;
    };
    Object.assign(node.cluster, { leases: async () => await (node.transitions.length === 0 ? change() : leases()) });
    await using events = await hear(served);
    expect((await next(events, "leaders"))?.data).toMatchObject({ items: [{}, { leader_id: "node-a" }] });
    expect(await next(events, "history")).toMatchObject({ id: "1", data: { node_id: "node-b" } });
  });

  it("tells a listener that comes back what it has missed", async () => {
    await using served = await listen({}, unhurried);
    served.node.transitions = [transition(12), transition(9), transition(7)];
    await using events = await hear(served, { lastEventId: "7" });
    expect(await next(events, "history")).toMatchObject({ id: "9" });
    expect(await next(events, "history")).toMatchObject({ id: "12" });
    served.node.transitions.unshift(transition(13));
    served.node.leadership.tell();
    expect(await next(events, "history")).toMatchObject({ id: "13" });
  });

  it("says again what changed by the clock alone only when it means something: a lease that ran out", async () => {
    await using served = await listen({}, { clusterLookMs: 10 });
    const { node } = served;
    settle(node);
    const looks = countLooks(node);
    await using events = await hear(served);
    await next(events, "nodes");
    node.leases = [lease("scheduler", "node-a", { remainingMs: 2_000, tenureMs: 24_400 }), lease("engine", null)];
    const before = looks.looks;
    await expect.poll(() => looks.looks).toBeGreaterThan(before + 2);
    node.leases = [lease("scheduler", "node-a", { remainingMs: 0 }), lease("engine", null)];
    expect((await events.next())?.data).toMatchObject({ items: [{}, { role: "scheduler", leader_id: null }] });
  });

  it("reads the database once for all who listen, and not at all when the last has gone", async () => {
    await using served = await listen({}, unhurried);
    settle(served.node);
    const counted = countLooks(served.node);
    const streams = await Promise.all([hear(served), hear(served), hear(served)]);
    for (const stream of streams) await next(stream, "nodes");
    expect(counted.looks).toBe(1);
    served.node.leases = [];
    served.node.leadership.tell();
    for (const stream of streams) await next(stream, "leaders");
    expect(counted.looks).toBe(2);
    for (const stream of streams) await stream[Symbol.asyncDispose]();
    await expect.poll(() => served.node.leadership.watching).toBe(0);
    served.node.leadership.tell();
    expect(counted.looks).toBe(2);
  });

  it("stands while the database is away, and goes on when it is back", async () => {
    await using served = await listen({}, { clusterLookMs: 5, keepAliveMs: 20 });
    settle(served.node);
    served.node.trouble = awayAtOnce;
    await using events = await hear(served);
    expect(await events.next()).toMatchObject({ event: "hello" });
    await expect.poll(() => events.comments).toBeGreaterThan(1);
    served.node.trouble = null;
    expect(await events.next()).toMatchObject({ event: "leaders" });
  });

  it("asks a database that is slow one question at a time, so that no late answer comes after a newer one", async () => {
    await using served = await listen({}, { clusterLookMs: 5, databaseWaitMs: 5, keepAliveMs: 20 });
    const { node } = served;
    settle(node);
    let answer = (): void => undefined;
    let asked = 0;
    const slow = async () => {
      asked += 1;
      if (asked === 1) await new Promise<void>((resolve) => (answer = resolve));
      return [lease("scheduler", asked === 1 ? "node-a" : "node-b")];
    };
    Object.assign(node.cluster, { leases: slow });
    await using events = await hear(served);
    await expect.poll(() => events.comments).toBeGreaterThan(2);
    expect(asked).toBe(1);
    answer();
    expect((await next(events, "leaders"))?.data).toMatchObject({ items: [{ leader_id: "node-a" }] });
    expect((await next(events, "leaders"))?.data).toMatchObject({ items: [{ leader_id: "node-b" }] });
  });

  it("ends when the node closes", async () => {
    await using served = await listen({}, unhurried);
    settle(served.node);
    await using events = await hear(served);
    await next(events, "nodes");
    await served.server.close();
    expect(await events.next()).toBeNull();
  });

  it("takes so many and no more", async () => {
    await using served = await listen({}, { ...unhurried, clusterListeners: 1 });
    const first = await hear(served);
    await first.next();
    const second = await fetch(`${served.server.url}${path}`);
    expect(await second.json()).toMatchObject({ error: "TOO_BUSY" });
    await first[Symbol.asyncDispose]();
    await expect.poll(async () => (await fetch(`${served.server.url}${path}`)).status).toBe(200);
  });

  it("lets go of a listener whose turn on its connection never came", async () => {
    await using served = await listen({}, { ...unhurried, clusterListeners: 2 });
    const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    {
      using raw = (await RawConnection.open(served.port)).send(`${request}${request}`);
      await raw.got(/event: hello/);
      await expect.poll(async () => (await fetch(`${served.server.url}${path}`)).status).toBe(503);
    }
    await expect.poll(() => served.node.leadership.watching).toBe(0);
    await using first = await hear(served);
    await using second = await hear(served);
    expect(await first.next()).toMatchObject({ event: "hello" });
    expect(await second.next()).toMatchObject({ event: "hello" });
  });

  it("cuts off whoever takes nothing", async () => {
    await using served = await listen({}, { clusterLookMs: 5, listenerStallMs: 50 });
    const { node } = served;
    const socket = connect(served.port, "127.0.0.1");
    socket.on("error", () => undefined).pause();
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await expect.poll(() => node.leadership.watching).toBe(1);
    await expect
      .poll(
        () => {
          node.nodes = Array.from({ length: 2_000 }, (_, n) =>
            nodeRow(`node-${n}`, { pid: Math.round(Math.random() * 1e6) }),
          );
          return node.leadership.watching;
        },
        { timeout: 20_000 },
      )
      .toBe(0);
    socket.destroy();
  });

  it("is refused for a query that nobody knows", async () => {
    await using served = await serveOpen();
    expect((await served.app.inject({ url: `${path}?colour=red` })).statusCode).toBe(422);
  });
});

describe.each(["/cluster/events", "/v1/events"])("whoever listens to %s", (stream) => {
  it("is told when the token is revoked, and hears nothing more", async () => {
    await using served = await listen();
    const token = await served.node.token("viewer");
    const other = await served.node.token("viewer", [], "other");
    await using events = await ServerEvents.open(served.server.url, { path: stream, token });
    await using spared = await ServerEvents.open(served.server.url, { path: stream, token: other });
    expect(await events.next()).toMatchObject({ event: "hello" });
    await served.node.access.revoke("1");
    expect(await next(events, "signed_out")).toMatchObject({ event: "signed_out" });
    expect(await events.next()).toBeNull();
    await served.node.jobs.submit([{ op: "x", jobId: "later" }]);
    served.node.leases = [lease("scheduler", "node-b")];
    served.node.leadership.tell();
    await next(spared, stream === "/v1/events" ? "job.queued" : "leaders");
  });

  it("is told when the token has expired", async () => {
    await using served = await listen();
    const wish = { name: "short", role: "viewer", grants: [], lifetimeMs: 3_000 } as const;
    const { secret: token } = await served.node.access.create(wish, "test");
    await served.node.access.refresh();
    await using events = await ServerEvents.open(served.server.url, { path: stream, token });
    expect(await next(events, "signed_out")).toMatchObject({ event: "signed_out" });
    expect(await events.next()).toBeNull();
  });

  it("is told when the first token shuts an open door", async () => {
    await using served = await listen();
    await using events = await ServerEvents.open(served.server.url, { path: stream });
    expect(await events.next()).toMatchObject({ event: "hello" });
    await served.node.token("admin");
    expect(await next(events, "signed_out")).toMatchObject({ event: "signed_out" });
  });
});
