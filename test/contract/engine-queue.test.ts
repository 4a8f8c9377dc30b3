import { test } from "vitest";
import { Journaled } from "../../src/queue/handler-call.js";
import { Queue } from "../../src/queue/queue.js";
import { engineQueue } from "../../src/store/engine-contract.js";
import type { StepLine } from "../../src/store/journal.js";
import { clusterNode, quick } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { createTestDatabase } from "../support/postgres.js";
import { postgresHarness } from "./harness.js";

/** A queue on a real node, whose messages are recorded as the engine does it. */
async function startQueue() {
  const database = await createTestDatabase();
  const { node } = await startLocalNode(clusterNode(database.url, "a", quick));
  const harness = await postgresHarness({ database, url: database.url });
  const { engine: book } = await harness.open();
  const options = { name: engineQueue, role: "scheduler", stages: ["ingress", "routed"], concurrency: 4 };
  const queue = new Queue(node, options, {
    prepare: async (fence) => {
      await book.nextMessageId(fence);
      return false;
    },
  });
  let next = 1;
  /** Numbered when its place is given, unless it is to have a number of its own. */
  const take = (body: string, lane = "adt-in", own?: number) =>
    queue.enqueueRecorded({ lane, body, headers: { from: "test" } }, () => {
      const id = own ?? next++;
      const line = { id, connection: lane, type: "ADT^A01", controlId: `${id}`, ack: null, replayOf: null };
      return { line, headers: { id: `${id}` } };
    });
  const dispose = async (): Promise<void> => {
    await node.close();
    await harness[Symbol.asyncDispose]();
    await database.drop();
  };
  await queue.opened();
  return { queue, book, take, [Symbol.asyncDispose]: dispose };
}

const stepOf = (id: string, kind: StepLine["kind"], lane: string, position: number): StepLine => ({
  id: Number(id),
  kind,
  stage: "ingress",
  lane,
  position,
  detail: null,
});

test.concurrent("a message and its line are taken in by one commit, numbered in the order of the commits", async ({
  expect,
}) => {
  await using engine = await startQueue();
  const places = await Promise.all(
    Array.from({ length: 60 }, (_, n) => engine.take(`body ${n}`, n % 3 === 0 ? "lab-in" : "adt-in")),
  );
  const { items } = await engine.book.search({}, { limit: 100 });
  expect(items.map(({ id }) => Number(id))).toEqual(Array.from({ length: 60 }, (_, n) => 60 - n));
  for (const place of places.slice(0, 5)) {
    const answer = await engine.book.ackOf(place);
    expect(await engine.book.message(answer?.id ?? "")).toMatchObject({ pending: [{ position: place.position }] });
  }
  const [oldest] = await engine.queue.peek({ stage: "ingress", lane: "lab-in" });
  expect(oldest?.headers).toMatchObject({ from: "test", id: expect.stringMatching(/^\d+$/) });
});

test.concurrent("of a batch that the database refuses only the culprit is refused, and only it has no line", async ({
  expect,
}) => {
  await using engine = await startQueue();
  const outcomes = await Promise.allSettled([
    engine.take("first"),
    engine.take("second"),
    engine.take("nowhere to go", "adt-in", 77_000_000),
    engine.take("third"),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
  const { items } = await engine.book.search({}, { limit: 10 });
  const bodies = await Promise.all(items.map(async ({ id }) => String(await engine.book.bodyOf(id))));
  expect(bodies).toEqual(["third", "second", "first"]);
  expect(await engine.queue.depth()).toEqual({ ingress: 3, routed: 0 });
});

test.concurrent("a number that cannot be given refuses its message, and the queue goes on", async ({ expect }) => {
  await using engine = await startQueue();
  const none = engine.queue.enqueueRecorded({ lane: "adt-in", body: "x" }, () => {
    throw new Error("no numbers are left");
  });
  await expect(none).rejects.toThrow("no numbers are left");
  await engine.take("next");
  expect(await engine.book.search({}, { limit: 10 })).toMatchObject({ items: [{ statuses: ["received"] }] });
});

test.concurrent("what a handler tells and keeps is there with the commit that finishes its message, in order", async ({
  expect,
}) => {
  await using engine = await startQueue();
  let failures = 0;
  engine.queue.process("ingress", async (message) => {
    const { id = "" } = message.headers;
    // Tried again: of the first attempt nothing is written.
    if (message.attempt === 1 && message.position === 3) throw new Error(`not yet ${++failures}`);
    const produced = message.position % 2 === 0 ? [{ stage: "routed", lane: "adt-in/x", body: "x" }] : [];
    const kind = produced.length === 0 ? "unrouted" : "processed";
    const state = [{ namespace: "last", key: message.lane, value: message.position }];
    const steps = [stepOf(id, kind, message.lane, message.position)];
    return await Promise.resolve(new Journaled(produced, { steps, state }));
  });
  await Promise.all(Array.from({ length: 20 }, (_, n) => engine.take(`${n}`)));
  await expect.poll(async () => (await engine.queue.depth()).ingress, { timeout: 15_000 }).toBe(0);
  expect(failures).toBe(1);
  expect((await engine.book.search({ status: "processed" }, { limit: 50 })).items).toHaveLength(10);
  expect((await engine.book.search({ status: "unrouted" }, { limit: 50 })).items).toHaveLength(10);
  expect(await engine.queue.depth()).toEqual({ ingress: 0, routed: 10 });
  const { version, entries } = await engine.book.readState("last", 0);
  expect(entries).toEqual([{ key: "adt-in", value: 20 }]);
  expect(version).toBeGreaterThan(0);
  const { items } = await engine.book.search({}, { limit: 50 });
  for (const { id } of items) expect((await engine.book.message(id))?.steps).toHaveLength(1);
});
