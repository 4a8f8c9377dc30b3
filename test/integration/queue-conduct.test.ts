import { test } from "vitest";
import type { QueueConduct } from "../../src/queue/conduct.js";
import type { Message } from "../../src/queue/message.js";
import { Queue } from "../../src/queue/queue.js";
import { calm, clusterNode } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { createTestDatabase } from "../support/postgres.js";

async function startQueue(url: string, conduct: QueueConduct) {
  const local = await startLocalNode(clusterNode(url, "a", calm));
  const options = { name: "orders", role: "scheduler", backoffMs: 10, backoffCapMs: 50, stages: ["in", "out"] };
  const queue = new Queue(local.node, options, conduct);
  return { node: local.node, queue, [Symbol.asyncDispose]: () => local.node.close() };
}

const text = ({ body }: Message): string => body.toString();
const messages = (lane: string, bodies: readonly string[]) => bodies.map((body) => ({ lane, body }));

test.concurrent("where each message is settled, the next of its lane begins when the last is known to be finished", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url, { settleEach: new Set(["in"]) });
  const doneAt: [string, number][] = [];
  a.queue.process("in", async (message) => {
    const lane = (await a.queue.lanes()).find(({ lane }) => lane === message.lane);
    doneAt.push([text(message), lane?.done ?? -1]);
  });
  await a.queue.opened();
  await a.queue.enqueueMany(messages("one", ["1", "2", "3", "4"]));
  await expect.poll(() => doneAt.length).toBe(4);
  expect(doneAt).toEqual([
    ["1", 0],
    ["2", 1],
    ["3", 2],
    ["4", 3],
  ]);
});

test.concurrent("a lane that is not admitted waits, while others go on, until the queue reconsiders", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  let isStopped = true;
  const admits = ({ lane }: { readonly lane: string }): boolean => lane !== "stopped" || !isStopped;
  await using a = await startQueue(database.url, { admits });
  const seen: string[] = [];
  a.queue.process("in", async (message) => {
    await Promise.resolve(seen.push(`${message.lane} ${text(message)}`));
  });
  await a.queue.opened();
  await a.queue.enqueueMany([...messages("stopped", ["1", "2"]), ...messages("open", ["1"])]);
  await expect.poll(() => seen).toEqual(["open 1"]);
  isStopped = false;
  a.queue.reconsider();
  await expect.poll(() => seen).toEqual(["open 1", "stopped 1", "stopped 2"]);
});

test.concurrent("a lane has rules of its own, and what fails for good is not tried again", async ({ expect }) => {
  await using database = await createTestDatabase();
  const stubborn = { maxAttempts: 1_000_000, policy: "dead_letter", backoff: { firstMs: 1, capMs: 5 } } as const;
  await using a = await startQueue(database.url, { rulesOf: ({ lane }) => (lane === "stubborn" ? stubborn : null) });
  const tries = new Map<string, number>();
  a.queue.process("in", async ({ lane, attempt }) => {
    tries.set(lane, attempt);
    if (lane === "stubborn" && attempt < 9) throw new Error("not yet");
    if (lane === "hopeless") throw Object.assign(new Error("never"), { retry: false });
    await Promise.resolve();
  });
  await a.queue.opened();
  await a.queue.enqueueMany([...messages("stubborn", ["1"]), ...messages("hopeless", ["1"])]);
  await expect.poll(() => tries.get("stubborn")).toBe(9);
  await expect
    .poll(async () => (await a.queue.deadLetters()).map(({ lane, reason }) => [lane, reason]))
    .toEqual([["hopeless", "never"]]);
  expect(tries.get("hopeless")).toBe(1);
});

test.concurrent("what asks for a longer pause than the lane's own gets it", async ({ expect }) => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url, {});
  const at: number[] = [];
  a.queue.process("in", async ({ attempt }) => {
    at.push(performance.now());
    if (attempt === 1) throw Object.assign(new Error("come again"), { retryAfterMs: 1_500 });
    await Promise.resolve();
  });
  await a.queue.opened();
  await a.queue.enqueueMany(messages("one", ["1"]));
  await expect.poll(() => at.length, { timeout: 15_000 }).toBe(2);
  expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThan(1_400);
});

test.concurrent("each term is prepared before messages are taken in, and lanes that it changed are read again", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  const events: string[] = [];
  await using a = await startQueue(database.url, {
    prepare: async ({ epoch }, signal) => {
      events.push(`prepared ${epoch} ${signal.aborted}`);
      await Promise.resolve();
      return true;
    },
  });
  await a.queue.opened();
  events.push("opened");
  await a.queue.enqueueMany(messages("one", ["1"]));
  const seen: string[] = [];
  a.queue.process("in", async (message) => void seen.push(await Promise.resolve(text(message))));
  await expect.poll(() => seen).toEqual(["1"]);
  expect(events).toEqual(["prepared 1 false", "opened"]);
});
