import { expect, test } from "vitest";
import { createQueue, type Queue } from "../../src/queue/queue.js";
import type { QueueOptions } from "../../src/queue/queue-settings.js";
import { calm, clusterNode } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { createTestDatabase, withClient } from "../support/postgres.js";

async function startQueue(url: string, options: Partial<QueueOptions> = {}) {
  const local = await startLocalNode(clusterNode(url, "a", calm));
  const queue = createQueue(local.node, { name: "orders", backoffMs: 10, backoffCapMs: 50, ...options });
  await queue.opened();
  return { ...local, queue, [Symbol.asyncDispose]: () => local.node.close() };
}

const depthOf = async (queue: Queue) => (await queue.depth())["ingress"];

test("whoever reads the messages for long holds up neither a new segment nor what is taken in, and is not waited for by retention", async () => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url, { segmentMs: 50, retentionMs: 0, sweepIntervalMs: 50 });
  a.queue.process("ingress", async () => undefined);
  await withClient(database.url, async (reader) => {
    await reader.query("begin");
    await reader.query("select count(*) from holdfast.messages");
    const segments = async () =>
      Number((await reader.query("select max(segment) as newest from holdfast.queue_segments")).rows[0].newest);
    const before = await segments();
    await expect
      .poll(async () => {
        await a.queue.enqueue({ lane: "x", body: "one" });
        return await segments();
      })
      .toBeGreaterThan(before + 2);
    await reader.query("rollback");
  });
  await expect.poll(() => depthOf(a.queue)).toBe(0);
});

test("queues that are made together are opened together", async () => {
  await using database = await createTestDatabase();
  await using local = await startLocalNode(clusterNode(database.url, "a", calm));
  const names = ["a", "b", "c", "d", "e", "f"];
  const queues = names.map((name) => createQueue(local.node, { name, role: "scheduler" }));
  await Promise.all(queues.map((queue) => queue.opened()));
  expect(JSON.stringify(local.log)).not.toContain("could not be read");
});

test("a function that hangs holds its own lane, which says so, and the others go on", async () => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url, { handlerTimeoutMs: 30, concurrency: 1 });
  let release = (): void => undefined;
  const hang = new Promise<void>((resolve) => {
    release = resolve;
  });
  const seen: string[] = [];
  a.queue.process("ingress", async ({ lane, attempt }) => {
    if (lane === "stuck" && attempt === 1) await hang;
    seen.push(`${lane} ${attempt}`);
  });
  await a.queue.enqueue({ lane: "stuck", body: "one" });
  await a.queue.enqueue({ lane: "free", body: "two" });
  await expect
    .poll(async () => await a.queue.lanes())
    .toMatchObject([
      { lane: "free", done: 1 },
      { lane: "stuck", attempts: 1 },
    ]);
  expect(seen).toEqual(["free 1"]);
  // Also where what is claimed has to be read again.
  await withClient(database.url, (client) =>
    client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name like '%pool%' and datname = current_database()`,
    ),
  );
  await expect
    .poll(async () => (await a.queue.lanes()).find(({ lane }) => lane === "stuck"))
    .toMatchObject({ attempts: 1, lastError: "the handler took longer than 30 ms, and still runs", done: 0 });
  expect(JSON.stringify(a.log)).toContain('a handler does not end, and holds lane \\"stuck\\"');
  release();
  await expect.poll(() => seen).toEqual(["free 1", "stuck 1", "stuck 2"]);
});

test("however many functions hang, the lanes of others go on", async () => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url, { handlerTimeoutMs: 20, concurrency: 2 });
  let release = (): void => undefined;
  const hang = new Promise<void>((resolve) => {
    release = resolve;
  });
  const seen: string[] = [];
  a.queue.process("ingress", async ({ lane }) => {
    if (lane.startsWith("stuck")) await hang;
    seen.push(lane);
  });
  const stuck = ["stuck 1", "stuck 2", "stuck 3", "stuck 4", "stuck 5"];
  await a.queue.enqueueMany(stuck.map((lane) => ({ lane, body: "" })));
  await a.queue.enqueue({ lane: "free", body: "" });
  await expect.poll(() => seen).toContain("free");
  release();
});

test("what a handler produces is what it returned, though it uses its buffer again", async () => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url, { stages: ["ingress", "outbound"] });
  const seen: string[] = [];
  const used = Buffer.alloc(4);
  a.queue.process("ingress", async ({ lane, body }) => {
    body.copy(used);
    return [{ stage: "outbound", lane, body: used }];
  });
  a.queue.process("outbound", async ({ body }) => {
    seen.push(body.toString());
  });
  const bodies = ["aaaa", "bbbb", "cccc", "dddd"];
  await a.queue.enqueueMany(bodies.map((body) => ({ lane: "x", body })));
  await expect.poll(() => seen).toEqual(bodies);
});

test("a handler that produces more than one commit takes has failed, and its message is not lost", async () => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url, { stages: ["ingress", "outbound"], maxAttempts: 1 });
  a.queue.process("ingress", async ({ lane }) =>
    Array.from({ length: 125_000 }, () => ({ stage: "outbound", lane, body: "" })),
  );
  await a.queue.enqueue({ lane: "x", body: "one" });
  await expect
    .poll(async () => (await a.queue.deadLetters()).map(({ reason }) => reason))
    .toEqual(["the handler returned 125000 messages, and 10000 are the most"]);
});

test("what is handed on to a lane gets its place, however much others send to it", async () => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url, { stages: ["ingress", "outbound"] });
  const arrived: string[] = [];
  a.queue.process("ingress", async ({ body }) => [{ stage: "outbound", lane: "busy", body }]);
  a.queue.process("outbound", async ({ body }) => {
    if (body.toString().startsWith("handed")) arrived.push(body.toString());
  });
  let sending = true;
  const senders = Array.from({ length: 6 }, async () => {
    while (sending) await a.queue.enqueue({ lane: "busy", stage: "outbound", body: "sent" });
  });
  const handed = ["handed 1", "handed 2", "handed 3"];
  await a.queue.enqueueMany(handed.map((body) => ({ lane: "x", body })));
  await expect.poll(() => arrived).toEqual(handed);
  sending = false;
  await Promise.all(senders);
});

test.each(["repeatable read", "serializable"])(
  "a database whose transactions are %s by default changes nothing for a queue",
  async (isolation) => {
    await using database = await createTestDatabase();
    await withClient(database.url, async (client) => {
      const { rows } = await client.query("select current_database() as name");
      await client.query(`alter database "${rows[0].name}" set default_transaction_isolation = '${isolation}'`);
    });
    await using a = await startQueue(database.url, { batch: 4 });
    const seen: string[] = [];
    a.queue.process("ingress", async ({ lane, position }) => {
      seen.push(`${lane} ${position}`);
    });
    const lanes = ["a", "b", "c", "d", "e", "f", "g", "h"];
    await Promise.all(Array.from({ length: 10 }, () => a.queue.enqueueMany(lanes.map((lane) => ({ lane, body: "" })))));
    await expect.poll(() => seen.length).toBe(80);
    expect(new Set(seen).size).toBe(80);
    expect(JSON.stringify(a.log)).not.toContain("not known");
  },
);

test("a delayed message waits at the head of its lane, costs no attempt, and hands its delay on to nobody", async () => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url, { stages: ["ingress", "outbound"] });
  const seen: string[] = [];
  const since = performance.now();
  a.queue.process("ingress", async ({ lane, body, headers }) => [{ stage: "outbound", lane, body, headers }]);
  a.queue.process("outbound", async ({ lane, body, attempt, headers }) => {
    seen.push(`${lane} ${body.toString()} ${attempt} ${JSON.stringify(headers)}`);
    if (body.toString() === "late") expect(performance.now() - since).toBeGreaterThanOrEqual(300);
  });
  await a.queue.enqueueMany([
    { lane: "x", body: "first" },
    { lane: "x", body: "late", delayMs: 300, headers: { type: "order" } },
    { lane: "x", body: "behind it" },
    { lane: "y", body: "elsewhere" },
  ]);
  await expect.poll(() => seen.length).toBe(4);
  expect(seen.filter((line) => line.startsWith("x"))).toEqual([
    "x first 1 {}",
    'x late 1 {"type":"order"}',
    "x behind it 1 {}",
  ]);
  expect(seen.indexOf("y elsewhere 1 {}")).toBeLessThan(2);
});

test("what cannot be a queue, a handler, a lane or a message is refused with the way out", async () => {
  await using database = await createTestDatabase();
  await using a = await startQueue(database.url);
  const { queue, node } = a;
  expect(() => createQueue(node, {} as never)).toThrow("it needs options, and a name among them");
  expect(() => createQueue(node, { name: "b", polcy: "block" } as never)).toThrow('Did you mean "policy"?');
  expect(() => queue.process("ingress", "x" as never)).toThrow("A handler is a function, or made by workerHandler().");
  await expect(queue.deadLetters({ limit: -1 })).rejects.toMatchObject({ code: "INVALID_REQUEST" });
  await expect(queue.deadLetters({ limit: 1, before: "abc" })).rejects.toMatchObject({ code: "INVALID_REQUEST" });
  await expect(queue.peek({ stage: "ingress", lane: "x" }, 0)).rejects.toMatchObject({ code: "INVALID_REQUEST" });
  await expect(queue.pause("x" as never)).rejects.toThrow("{ stage, lane }");
  await expect(queue.enqueueMany({} as never)).rejects.toThrow("Give an array of messages.");
  for (const [message, reason] of [
    [null, "must be an object"],
    [{ lane: "x", body: "", delay: 5 }, 'no field "delay": it has lane, body, key, headers, stage, delayMs'],
    [{ lane: "x", body: "", delayMs: -1 }, "delayMs must be"],
    [{ lane: "x", body: "", delayMs: 0.5 }, "delayMs must be"],
    [{ lane: "half \ud800", body: "" }, "printable"],
    [{ lane: "x", body: "", key: "half \ud800" }, "whole characters"],
    [{ lane: "x", body: "", headers: { a: "half \ud800" } }, "whole characters"],
    [{ lane: "x", body: "", headers: { "\0": "" } }, "none of them zero"],
  ] as const) {
    await expect(queue.enqueue(message as never)).rejects.toMatchObject({
      code: "INVALID_REQUEST",
      message: expect.stringContaining(reason),
    });
  }
  await queue.enqueue({ lane: "x", body: "", headers: { a: "\\u0000 \\ud800" } });
  expect(await depthOf(queue)).toBe(1);
});
