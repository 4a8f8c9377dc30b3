import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { ServerEvents } from "../support/server-events.js";
import { listen, serveOpen } from "./served.js";
import { awayAtOnce } from "./stand-in-node.js";

const submit = async (
  node: { jobs: { submit(jobs: { op: string; jobId: string }[]): Promise<unknown> } },
  ...ids: string[]
) => await node.jobs.submit(ids.map((jobId) => ({ op: "x", jobId })));

describe("GET /v1/events", () => {
  it("says hello with where it stands, and then what happens, in order", async () => {
    await using served = await listen();
    await submit(served.node, "before");
    await using events = await ServerEvents.open(served.server.url);
    expect(await events.next()).toEqual({ event: "hello", id: "g-1", data: { cursor: "g-1" } });
    await submit(served.node, "a");
    expect(await events.next()).toEqual({
      event: "job.queued",
      id: "g-2",
      data: {
        kind: "job.queued",
        at: expect.any(Number) as number,
        leader_epoch: 7,
        job_id: "a",
        op: "x",
        namespace: "default",
        state: "queued",
        job_epoch: 0,
      },
    });
    expect(events.headers.get("content-type")).toMatch("text/event-stream");
    expect(events.headers.get("x-holdfast-node")).toBe("node-a");
    await served.node.jobs.cancel("a");
    expect(await events.next()).toMatchObject({ event: "job.cancelled", id: "g-3", data: { job_id: "a" } });
  });

  it("goes on after the last event that was seen, without a gap", async () => {
    await using served = await listen();
    await submit(served.node, "a", "b", "c");
    for (const how of [{ lastEventId: "g-1" }, { after: "g-1" }]) {
      await using events = await ServerEvents.open(served.server.url, how);
      expect(await events.next()).toMatchObject({ event: "hello", id: "g-1" });
      expect(await events.next()).toMatchObject({ id: "g-2", data: { job_id: "b" } });
      expect(await events.next()).toMatchObject({ id: "g-3", data: { job_id: "c" } });
    }
  });

  it.each(["other-1", "g-99", "nonsense", "-"])("tells whoever comes with %j to begin anew", async (lastEventId) => {
    await using served = await listen();
    await submit(served.node, "a");
    await using events = await ServerEvents.open(served.server.url, { lastEventId });
    // Without a cursor: a listener that is cut off here comes back with the one it had, and is told again.
    expect(await events.next()).toEqual({ event: "hello", id: "", data: {} });
    expect(await events.next()).toEqual({ event: "reset", id: "g-1", data: { cursor: "g-1" } });
    await submit(served.node, "b");
    expect(await events.next()).toMatchObject({ id: "g-2" });
  });

  it("keeps the connection alive with a comment, and ends it when the node closes", async () => {
    await using served = await listen({}, { keepAliveMs: 20 });
    const events = await ServerEvents.open(served.server.url);
    await events.next();
    await expect.poll(() => events.comments).toBeGreaterThan(1);
    await served.server.close();
    expect(await events.next()).toBeNull();
  });

  it("is read once for all who listen, and not at all when the last has gone", async () => {
    await using served = await listen();
    const streams = [await ServerEvents.open(served.server.url), await ServerEvents.open(served.server.url)];
    for (const stream of streams) await stream.next();
    await submit(served.node, "a");
    for (const stream of streams) expect(await stream.next()).toMatchObject({ id: "g-1" });
    expect(served.node.jobs.events.listeners).toBe(2);
    for (const stream of streams) await stream[Symbol.asyncDispose]();
    await expect.poll(() => served.node.jobs.events.listeners).toBe(0);
  });

  it("cuts off whoever takes nothing", async () => {
    await using served = await listen({}, { listenerStallMs: 50 });
    const socket = connect(served.port, "127.0.0.1");
    socket.on("error", () => undefined).pause();
    socket.write("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await expect.poll(() => served.node.jobs.events.listeners).toBe(1);
    const padding = "x".repeat(180);
    await expect
      .poll(
        async () => {
          const ids = Array.from({ length: 500 }, () => `${padding}${Math.random()}`.replace(".", ""));
          await submit(served.node, ...ids);
          return served.node.jobs.events.listeners;
        },
        { timeout: 20_000 },
      )
      .toBe(0);
    socket.destroy();
  });

  it("is 503 where the database is away", async () => {
    await using served = await serveOpen();
    served.node.trouble = awayAtOnce;
    expect((await served.app.inject({ url: "/v1/events" })).json()).toMatchObject({ error: "DATABASE_AWAY" });
    expect((await served.app.inject({ url: "/v1/events?colour=red" })).statusCode).toBe(422);
  });
});

describe("GET /cluster/scale", () => {
  it("says what there is to do, and how many agents that takes", async () => {
    await using served = await serveOpen();
    const ask = async (query = "") => (await served.app.inject({ url: `/cluster/scale${query}` })).json<object>();
    expect(await ask()).toEqual({ desired_workers: 0, queue_depth: 0, oldest_seconds: 0, value: 0 });
    await submit(served.node, ...Array.from({ length: 9 }, (_, n) => `j${n}`));
    const wish = { agent: "a", namespace: "default", capabilities: [], maxTasks: 1 };
    await served.node.jobs.lease(wish, 0, new AbortController().signal);
    const seen = { queue_depth: 8, oldest_seconds: expect.any(Number) as number, value: 9 };
    expect(await ask()).toEqual({ desired_workers: 2, ...seen });
    expect(await ask("?tasks_per_worker=4")).toEqual({ desired_workers: 3, ...seen });
  });
});
