import { test } from "vitest";
import type { Message } from "../../src/queue/message.js";
import { createQueue, type Queue } from "../../src/queue/queue.js";
import type { QueueOptions } from "../../src/queue/queue-settings.js";
import { calm, clusterNode } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { createTestDatabase, withClient } from "../support/postgres.js";

const x = { stage: "ingress", lane: "x" } as const;

/** Two nodes of a cluster, each with the queue: the first leads, the second is where the operator is. */
async function startPair(url: string, options: Partial<QueueOptions> = {}) {
  const leading = await startLocalNode(clusterNode(url, "a", calm));
  const queue = createQueue(leading.node, {
    name: "orders",
    role: "scheduler",
    backoffMs: 10,
    backoffCapMs: 50,
    ...options,
  });
  await isOpen(queue);
  const standby = await startLocalNode(clusterNode(url, "b", calm));
  const elsewhere = createQueue(standby.node, { name: "orders", role: "scheduler" });
  return {
    queue,
    elsewhere,
    metricsOf: async (where: "leader" | "standby", name: string) => {
      const { registry } = where === "leader" ? leading.node : standby.node;
      return (await registry.metrics()).split("\n").filter((line) => line.startsWith(`holdfast_queue_${name}`));
    },
    [Symbol.asyncDispose]: async () => {
      await standby.node.close();
      await leading.node.close();
    },
  };
}

async function isOpen(queue: Queue): Promise<void> {
  for (;;) {
    const taken = await queue.enqueue({ lane: "opening", body: "" }).catch(() => null);
    if (taken !== null) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function marksOf(url: string): Promise<number> {
  const { rows } = await withClient(url, (client) => client.query("select from holdfast.lanes where steered"));
  return rows.length;
}

const bodies = (...texts: readonly string[]) => texts.map((body) => ({ lane: "x", body }));

for (const where of ["queue", "elsewhere"] as const) {
  test.concurrent(`pausing by the ${where === "queue" ? "leader" : "standby"} stops what has not begun, at no cost; the other lanes go on`, async ({
    expect,
  }) => {
    await using database = await createTestDatabase();
    await using pair = await startPair(database.url);
    const seen: Message[] = [];
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let begun: () => void = () => undefined;
    const beginning = new Promise<void>((resolve) => {
      begun = resolve;
    });
    let others = 0;
    pair.queue.process("ingress", async (message) => {
      if (message.lane === "other") others += 1;
      if (message.lane !== "x") return;
      seen.push(message);
      if (message.body.toString() !== "1") return;
      begun();
      await held;
    });
    // All three are in one claim.
    await pair.queue.enqueueMany(bodies("1", "2", "3"));
    await beginning;
    await pair.queue.enqueue({ lane: "other", body: "before" });
    await expect.poll(() => others).toBe(1);
    expect(await pair[where].pause(x)).toMatchObject({ paused: true, done: 0 });
    if (where === "elsewhere") {
      // The leader has looked when it has taken the mark away.
      await expect.poll(async () => await marksOf(database.url)).toBe(0);
    }
    await pair.queue.enqueue({ lane: "other", body: "meanwhile" });
    await expect.poll(() => others).toBe(2);
    release();
    const laneOf = async () => (await pair.elsewhere.lanes()).find(({ lane }) => lane === "x");
    await expect.poll(laneOf).toMatchObject({ done: 1, tail: 3, attempts: 0, reclaims: 0, paused: true });
    await pair.queue.enqueue({ lane: "other", body: "after" });
    await expect.poll(() => others).toBe(3);
    expect(seen.map(({ body }) => body.toString())).toEqual(["1"]);
    await pair[where].resume(x);
    await expect.poll(() => seen.length).toBe(3);
    expect(seen.map(({ body, attempt }) => `${body.toString()} ${attempt}`)).toEqual(["1 1", "2 1", "3 1"]);
  });
}

test.concurrent("a handler that is put in another's place gets what comes next", async ({ expect }) => {
  await using database = await createTestDatabase();
  await using pair = await startPair(database.url);
  const seen: string[] = [];
  pair.queue.process("ingress", async ({ body }) => await Promise.resolve(void seen.push(`old ${body.toString()}`)));
  await pair.queue.enqueueMany(bodies("1"));
  await expect.poll(() => seen).toContain("old 1");
  pair.queue.process("ingress", async ({ body }) => await Promise.resolve(void seen.push(`new ${body.toString()}`)));
  await pair.queue.enqueueMany(bodies("2"));
  await expect.poll(() => seen).toContain("new 2");
});

test.concurrent("a blocked head is skipped from any node: it is a dead letter, and its lane goes on; where none is, it is refused", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using pair = await startPair(database.url, { policy: "block", maxAttempts: 1 });
  const done: string[] = [];
  pair.queue.process("ingress", async ({ lane, body }) => {
    if (body.toString().startsWith("bad")) throw new Error("no such account");
    await Promise.resolve(void done.push(`${lane} ${body.toString()}`));
  });
  await pair.queue.enqueueMany(bodies("bad 1", "bad 2", "good"));
  const laneOf = async () => (await pair.elsewhere.lanes()).find(({ lane }) => lane === "x");
  await expect.poll(laneOf).toMatchObject({ blocked: true, done: 0 });
  expect(await pair.elsewhere.skip(x)).toMatchObject({ done: 1, blocked: false });
  await expect.poll(laneOf).toMatchObject({ blocked: true, done: 1 });
  expect(await pair.queue.skip(x)).toMatchObject({ done: 2, blocked: false });
  await expect.poll(() => done).toContain("x good");
  expect((await pair.queue.deadLetters()).map(({ position, reason }) => [position, reason])).toEqual([
    [2, "no such account"],
    [1, "no such account"],
  ]);
  await expect(pair.elsewhere.skip(x)).rejects.toMatchObject({
    code: "REFUSED",
    message: expect.stringContaining("not blocked"),
  });
  await expect(pair.elsewhere.skip({ ...x, lane: "none" })).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test.concurrent("the leader's metrics say what is and what was done, and the standby's 0", async ({ expect }) => {
  await using database = await createTestDatabase();
  await using pair = await startPair(database.url, { maxAttempts: 1 });
  const of = 'queue="orders"';
  for (const where of ["leader", "standby"] as const) {
    expect(await pair.metricsOf(where, "delivered_total")).toEqual([`holdfast_queue_delivered_total{${of}} 0`]);
  }
  pair.queue.process("ingress", async ({ body }) => {
    if (body.toString() === "bad") throw new Error("no");
    await Promise.resolve();
  });
  await pair.queue.enqueueMany(bodies("1", "2", "bad", "3"));
  const leader = async (name: string) => await pair.metricsOf("leader", name);
  // One more opened the queue.
  await expect.poll(async () => await leader("delivered_total")).toEqual([`holdfast_queue_delivered_total{${of}} 4`]);
  expect(await leader("dead_total")).toEqual([`holdfast_queue_dead_total{${of}} 1`]);
  expect(await leader("delivery_seconds_count")).toEqual([`holdfast_queue_delivery_seconds_count{${of}} 4`]);
  await pair.queue.pause(x);
  await pair.queue.enqueueMany(bodies("4", "5"));
  expect(await leader("depth")).toEqual([`holdfast_queue_depth{stage="ingress",${of}} 2`]);
  expect((await leader("oldest_seconds"))[0]).toMatch(/ \d/);
  expect(await pair.metricsOf("standby", "depth")).toEqual([`holdfast_queue_depth{stage="ingress",${of}} 0`]);
  expect(await pair.metricsOf("standby", "oldest_seconds")).toEqual([`holdfast_queue_oldest_seconds{${of}} 0`]);
  expect(await pair.metricsOf("standby", "delivered_total")).toEqual([`holdfast_queue_delivered_total{${of}} 0`]);
});
