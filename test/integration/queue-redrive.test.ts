import { test } from "vitest";
import type { Message } from "../../src/queue/message.js";
import { createQueue, type Queue } from "../../src/queue/queue.js";
import type { QueueOptions } from "../../src/queue/queue-settings.js";
import { calm, clusterNode } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { createTestDatabase } from "../support/postgres.js";

async function startQueue(url: string, nodeId: string, options: Partial<QueueOptions> = {}) {
  const local = await startLocalNode(clusterNode(url, nodeId, calm));
  const queue = createQueue(local.node, { name: "orders", role: "scheduler", maxAttempts: 1, ...options });
  return { local, queue, [Symbol.asyncDispose]: () => local.node.close() };
}

async function isOpen(queue: Queue): Promise<void> {
  for (;;) {
    const taken = await queue.enqueue({ lane: "opening", body: "" }).catch(() => null);
    if (taken !== null) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const textOf = ({ lane, body }: Message) => `${lane} ${body.toString()}`;

test.concurrent("dead letters go to the end of their own lanes, in the order in which they died, each once", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url, "a");
  let broken = true;
  const done: Message[] = [];
  a.queue.process("ingress", async (message) => {
    if (broken && message.body.toString().startsWith("bad")) throw new Error("no such account");
    await Promise.resolve(void (message.lane === "opening" || done.push(message)));
  });
  await isOpen(a.queue);
  await a.queue.enqueueMany([
    { lane: "x", body: "bad 1", key: "k1", headers: { type: "a" } },
    { lane: "x", body: "good 2" },
    { lane: "x", body: "bad 3" },
    { lane: "x", body: "good 4" },
  ]);
  await expect.poll(() => done.length).toBe(2);
  await a.queue.enqueue({ lane: "y", body: "bad 5" });
  await expect.poll(async () => (await a.queue.deadLetters()).length).toBe(3);
  const [five, three, one] = await a.queue.deadLetters();
  const ids = [five, three, one].map((letter) => letter?.id ?? "");
  await a.queue.pause({ stage: "ingress", lane: "x" });
  await a.queue.enqueue({ lane: "x", body: "good 6" });

  await expect(a.queue.redrive([ids[0] ?? "", "424242"])).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect((await a.queue.deadLetter(ids[0] ?? ""))?.redrivenAt).toBeNull();
  broken = false;
  expect(await a.queue.redrive(ids)).toEqual([
    { id: one?.id, stage: "ingress", lane: "x", position: 6 },
    { id: three?.id, stage: "ingress", lane: "x", position: 7 },
    { id: five?.id, stage: "ingress", lane: "y", position: 2 },
  ]);
  await a.queue.resume({ stage: "ingress", lane: "x" });
  await expect
    .poll(() => done.map(textOf).filter((text) => text.startsWith("x")))
    .toEqual(["x good 2", "x good 4", "x good 6", "x bad 1", "x bad 3"]);
  await expect.poll(() => done.map(textOf)).toContain("y bad 5");
  const again = done.find((message) => textOf(message) === "x bad 1");
  expect(again).toMatchObject({ key: "k1", attempt: 1, headers: { type: "a", "x-holdfast-redriven-from": one?.id } });

  const refused = a.queue.redrive([three?.id ?? ""]);
  await expect(refused).rejects.toMatchObject({
    code: "REFUSED",
    message: expect.stringMatching(/redriven at 20\d\d-/),
  });
  // The key stands for the message that was taken in again.
  expect(await a.queue.enqueue({ lane: "x", body: "bad 1", key: "k1" })).toMatchObject({
    duplicate: true,
    position: 6,
  });
  for (const bad of [[], "1", [1]]) {
    await expect(a.queue.redrive(bad as never)).rejects.toMatchObject({ code: "INVALID_REQUEST" });
  }
});

test.concurrent("all of a lane are redriven by one word, and by the leader alone", async ({ expect }) => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url, "a");
  let broken = true;
  const done: string[] = [];
  a.queue.process("ingress", async (message) => {
    if (broken && message.lane !== "opening") throw new Error("no");
    await Promise.resolve(void (message.lane === "opening" || done.push(textOf(message))));
  });
  await isOpen(a.queue);
  await using b = await startQueue(database.url, "b");
  await a.queue.enqueueMany(["x", "y", "x", "x"].map((lane, index) => ({ lane, body: `${index}` })));
  await expect.poll(async () => (await b.queue.deadLetters()).length).toBe(4);
  const [letter] = await b.queue.deadLetters();
  await expect(b.queue.redrive([letter?.id ?? ""])).rejects.toMatchObject({ code: "NOT_LEADER" });
  await expect(b.queue.redriveAll()).rejects.toMatchObject({ code: "NOT_LEADER" });
  broken = false;
  expect((await a.queue.redriveAll({ lane: "x", limit: 2 })).map(({ position }) => position)).toEqual([4, 5]);
  await expect.poll(() => done).toEqual(["x 0", "x 2"]);
  expect(await a.queue.redriveAll({ stage: "ingress" })).toHaveLength(2);
  await expect.poll(() => done.toSorted()).toEqual(["x 0", "x 2", "x 3", "y 1"]);
  expect(await a.queue.redriveAll()).toEqual([]);
  await expect(a.queue.redriveAll({ limit: 0 })).rejects.toMatchObject({ code: "INVALID_REQUEST" });
});

test.concurrent("a lane that is appended to all the time finds room for what is redriven, and no place is given twice", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url, "a");
  let broken = true;
  const done: string[] = [];
  a.queue.process("ingress", async ({ body, lane }) => {
    if (broken && body.toString().startsWith("bad")) throw new Error("no");
    await Promise.resolve(void (lane === "opening" || done.push(body.toString())));
  });
  await isOpen(a.queue);
  await a.queue.enqueueMany(["bad 1", "bad 2"].map((body) => ({ lane: "x", body })));
  await expect.poll(async () => (await a.queue.deadLetters()).length).toBe(2);
  broken = false;
  let stopped = false;
  const accepted: string[] = [];
  const producing = Array.from({ length: 4 }, async (_, worker) => {
    for (let n = 0; !stopped; n += 1) {
      const body = `${worker}-${n}`;
      await a.queue.enqueue({ lane: "x", body });
      accepted.push(body);
    }
  });
  await expect.poll(() => done.length).toBeGreaterThan(20);
  expect(await a.queue.redriveAll()).toHaveLength(2);
  const before = done.length;
  await expect.poll(() => done.length).toBeGreaterThan(before + 20);
  stopped = true;
  await Promise.all(producing);
  await expect.poll(() => done.toSorted()).toEqual([...accepted, "bad 1", "bad 2"].toSorted());
  expect(done.indexOf("bad 1")).toBeLessThan(done.indexOf("bad 2"));
  for (const worker of ["0-", "1-", "2-", "3-"]) {
    const own = done.filter((body) => body.startsWith(worker));
    expect(own).toEqual(own.map((_, index) => `${worker}${index}`));
  }
  expect(a.local.log.filter(({ level }) => level >= 40)).toEqual([]);
});
