import { once } from "node:events";
import { test } from "vitest";
import type { Message } from "../../src/queue/message.js";
import { createQueue, type Queue } from "../../src/queue/queue.js";
import type { QueueOptions } from "../../src/queue/queue-settings.js";
import { calm, clusterNode, heirOf } from "../support/election.js";
import { type LocalNode, startLocalNode } from "../support/local-node.js";
import { createTestDatabase } from "../support/postgres.js";

const soon = { backoffMs: 10, backoffCapMs: 50 } as const;

async function startQueue(url: string, nodeId: string, options: Partial<QueueOptions> = {}) {
  const local = await startLocalNode(clusterNode(url, nodeId, calm));
  const queue = createQueue(local.node, { name: "orders", role: "scheduler", ...soon, ...options });
  return { local, queue, [Symbol.asyncDispose]: () => local.node.close() };
}

/** Resolves when this node takes messages in. */
async function isOpen(queue: Queue, lane = "opening"): Promise<void> {
  for (;;) {
    try {
      await queue.enqueue({ lane, body: "" });
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== "NOT_LEADER") throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

const texts = (messages: readonly Message[], lane: string) =>
  messages.filter((message) => message.lane === lane).map(({ body }) => body.toString());
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `${index}`);
const isDrained = async (queue: Queue) => Object.values(await queue.depth()).every((depth) => depth === 0);

test.concurrent("every lane is delivered in the order of its commits, through failures, while others go on", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url, "a", { maxAttempts: 4, concurrency: 8, batch: 20 });
  const first: Message[] = [];
  const failedOnce = new Set<string>();
  a.queue.process("ingress", async (message) => {
    const id = `${message.lane}/${message.body.toString()}`;
    if (message.attempt === 1) first.push(message);
    if (message.body.toString().endsWith("3") && !failedOnce.has(id)) {
      failedOnce.add(id);
      throw new Error("not yet");
    }
    await Promise.resolve();
  });
  await isOpen(a.queue);
  const lanes = numbered(20).map((n) => `lane-${n}`);
  const bodies = numbered(50);
  await Promise.all(
    lanes.map(async (lane) => {
      for (let at = 0; at < bodies.length; at += 10) {
        await a.queue.enqueueMany(bodies.slice(at, at + 10).map((body) => ({ lane, body })));
      }
    }),
  );
  await expect.poll(() => isDrained(a.queue)).toBe(true);
  for (const lane of lanes) expect(texts(first, lane)).toEqual(bodies);
  expect(failedOnce.size).toBe(20 * 5);
});

test.concurrent("a head that fails for good makes way with its reason, or holds its lane until it is resumed", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url, "a", { maxAttempts: 2 });
  await using b = await startLocalNode(clusterNode(database.url, "a2", calm));
  const blocking = createQueue(b.node, { name: "blocking", role: "blocker", policy: "block", maxAttempts: 2, ...soon });
  let broken = true;
  const done: string[] = [];
  const handler = async (message: Message) => {
    if (message.body.toString() === "bad" && broken) throw new Error("no such account");
    await Promise.resolve(void done.push(`${message.queue} ${message.body.toString()}`));
  };
  a.queue.process("ingress", handler);
  blocking.process("ingress", handler);
  await Promise.all([isOpen(a.queue), isOpen(blocking)]);
  for (const queue of [a.queue, blocking]) {
    await queue.enqueueMany(["bad", "good"].map((body) => ({ lane: "x", body })));
  }
  await expect.poll(() => done).toContain("orders good");
  expect(await a.queue.deadLetters()).toMatchObject([
    { stage: "ingress", lane: "x", position: 1, attempts: 2, reason: expect.stringContaining("no such account") },
  ]);
  const held = async () => (await blocking.lanes()).find(({ lane }) => lane === "x");
  await expect.poll(held).toMatchObject({ blocked: true, done: 0, tail: 2, attempts: 2 });
  expect(done).not.toContain("blocking good");
  broken = false;
  await blocking.resume({ stage: "ingress", lane: "x" });
  await expect
    .poll(() => done.filter((text) => text.startsWith("blocking") && !text.endsWith(" ")))
    .toEqual(["blocking bad", "blocking good"]);
});

test.concurrent("what a handler produces is taken in with the commit that finishes its message, stage by stage", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url, "a", { stages: ["ingress", "routed", "outbound"], maxAttempts: 3 });
  const sent: string[] = [];
  let flaky = 2;
  a.queue.process(
    "ingress",
    async ({ lane, body }) => await Promise.resolve([{ stage: "routed", lane: `to-${lane}`, body }]),
  );
  a.queue.process("routed", async ({ body }) => {
    if (flaky-- > 0) throw new Error("again");
    return await Promise.resolve(
      ["x", "y"].map((suffix) => ({ stage: "outbound", lane: "all", body: `${body.toString()}${suffix}` })),
    );
  });
  a.queue.process("outbound", async ({ body }) => await Promise.resolve(void sent.push(body.toString())));
  await isOpen(a.queue);
  await a.queue.enqueueMany(numbered(30).map((body) => ({ lane: "one", body })));
  await expect.poll(() => sent.filter((text) => text.length > 1).length).toBe(60);
  expect(sent.filter((text) => text.length > 1)).toEqual(numbered(30).flatMap((n) => [`${n}x`, `${n}y`]));
  await expect.poll(() => isDrained(a.queue)).toBe(true);
});

test.concurrent("a message with a key is taken in once, also within one batch and by the next leader", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url, "a");
  await isOpen(a.queue);
  const message = { lane: "x", body: "once", key: "order-1" };
  const [one, two] = await Promise.all([a.queue.enqueue(message), a.queue.enqueue(message)]);
  expect([one.duplicate, two.duplicate].filter(Boolean)).toHaveLength(1);
  expect(one.position).toBe(two.position);
  await using b = await startQueue(database.url, "b");
  await heirOf(database.url);
  await a.local.node.close();
  await isOpen(b.queue);
  expect(await b.queue.enqueue(message)).toEqual({ ...one, duplicate: true });
});

test.concurrent("the next leader goes on where the last one stopped, and loses and inverts nothing", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url, "a", { concurrency: 4, batch: 10 });
  await using b = await startQueue(database.url, "b", { concurrency: 4, batch: 10 });
  const seen: Message[] = [];
  const handler = async (message: Message) => await Promise.resolve(void seen.push(message));
  for (const { queue } of [a, b]) queue.process("ingress", handler);
  await isOpen(a.queue);
  const lanes = numbered(5).map((n) => `lane-${n}`);
  const accepted = new Map<string, string[]>(lanes.map((lane) => [lane, []]));
  let stopped = false;
  const producing = Promise.all(
    lanes.map(async (lane) => {
      for (let n = 0; !stopped; ) {
        for (const { queue } of [a, b]) {
          const taken = await queue.enqueue({ lane, body: `${n}` }).catch(() => null);
          if (taken === null) continue;
          accepted.get(lane)?.push(`${n}`);
          n += 1;
          break;
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
    }),
  );
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    await expect.poll(() => from.local.node.role("scheduler").gate.isLeader).toBe(true);
    await heirOf(database.url);
    const before = seen.length;
    await expect.poll(() => seen.length).toBeGreaterThan(before + 20);
    await from.local.node.role("scheduler").stepDown({ to: to.local.node.id });
  }
  await expect.poll(() => a.local.node.role("scheduler").gate.isLeader).toBe(true);
  stopped = true;
  await producing;
  await expect.poll(() => isDrained(a.queue)).toBe(true);
  for (const lane of lanes) {
    const firsts = [...new Set(texts(seen, lane))];
    expect(firsts).toEqual(accepted.get(lane));
  }
});

test.concurrent("a lane can be paused and resumed, looked into, and counted without its messages", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url, "a");
  const seen: string[] = [];
  a.queue.process(
    "ingress",
    async ({ lane, body }) => await Promise.resolve(void seen.push(`${lane} ${body.toString()}`)),
  );
  await isOpen(a.queue);
  await a.queue.enqueue({ lane: "x", body: "1", headers: { type: "a" } });
  await expect.poll(() => seen).toContain("x 1");
  const lane = { stage: "ingress", lane: "x" };
  expect(await a.queue.pause(lane)).toMatchObject({ paused: true });
  await a.queue.enqueueMany([
    { lane: "x", body: "22", headers: { type: "b" } },
    { lane: "y", body: "1" },
  ]);
  await expect.poll(() => seen).toContain("y 1");
  await expect.poll(() => a.queue.depth()).toEqual({ ingress: 1 });
  expect(await a.queue.peek(lane)).toMatchObject([{ position: 2, size: 2, headers: { type: "b" } }]);
  await a.queue.resume(lane);
  await expect.poll(() => seen).toContain("x 22");
  await expect(a.queue.pause({ stage: "ingress", lane: "none" })).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test.concurrent("bad input is refused with a clear error, and nothing of its batch is taken in", async ({ expect }) => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url, "a", { maxBodyBytes: 100 });
  await isOpen(a.queue);
  const good = { lane: "x", body: "fine" };
  const bad: readonly [unknown, string][] = [
    [{ lane: "x", body: "y".repeat(101) }, "BODY_TOO_LARGE"],
    [{ lane: "", body: "y" }, "INVALID_REQUEST"],
    [{ lane: "x\n", body: "y" }, "INVALID_REQUEST"],
    [{ lane: "x", body: { an: "object" } }, "INVALID_REQUEST"],
    [{ lane: "x", body: "y", stage: "nowhere" }, "INVALID_REQUEST"],
    [{ lane: "x", body: "y", key: "" }, "INVALID_REQUEST"],
    [{ lane: "x", body: "y", key: "zero\0" }, "INVALID_REQUEST"],
    [{ lane: "x", body: "y", headers: { a: 1 } }, "INVALID_REQUEST"],
  ];
  for (const [message, code] of bad) {
    await expect(a.queue.enqueueMany([good, message as typeof good])).rejects.toMatchObject({ code });
  }
  expect((await a.queue.lanes()).map(({ lane }) => lane)).not.toContain("x");
  expect(() => createQueue(a.local.node, { name: "Bad Name" })).toThrow("1 to 63");
  expect(() => createQueue(a.local.node, { name: "q", policy: "luck" as never })).toThrow('"dead_letter" or "block"');
});

test.concurrent("a standby takes nothing in", async ({ expect }) => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url, "a");
  await isOpen(a.queue);
  await using b: { local: LocalNode; queue: Queue } & AsyncDisposable = await startQueue(database.url, "b");
  await expect(b.queue.enqueue({ lane: "x", body: "y" })).rejects.toMatchObject({ code: "NOT_LEADER" });
  const lost = once(a.local.node.role("scheduler"), "lost");
  await heirOf(database.url);
  await a.local.node.role("scheduler").stepDown();
  await lost;
  await expect(a.queue.enqueue({ lane: "x", body: "y" })).rejects.toMatchObject({ code: "NOT_LEADER" });
});
