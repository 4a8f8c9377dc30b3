import { test } from "vitest";
import { Journaled } from "../../src/queue/handler-call.js";
import type { Message } from "../../src/queue/message.js";
import { Queue } from "../../src/queue/queue.js";
import { calm, clusterNode } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { createTestDatabase } from "../support/postgres.js";

const stages = ["in", "mid", "out"];
const nothing = { steps: [], state: [] };
const on = (stage: string, { lane, body }: Message): Journaled => new Journaled([{ stage, lane, body }], nothing);

/** Whatever comes in goes through "mid" to "out", where it is noted. `fails` says of which messages "mid" throws at the first sight. */
async function startRelay(url: string, fails: (body: string) => boolean) {
  const local = await startLocalNode(clusterNode(url, "a", calm));
  const failed = new Set<string>();
  const out: string[] = [];
  const middle = (message: Message): Journaled => {
    const name = `${message.lane} ${message.body.toString()}`;
    if (fails(message.body.toString()) && !failed.has(name)) {
      failed.add(name);
      throw new Error("not yet");
    }
    return on("out", message);
  };
  const options = { name: "orders", role: "scheduler", backoffMs: 5, backoffCapMs: 5, batch: 7, stages };
  const queue = new Queue(local.node, options, { express: new Map([["mid", middle]]) });
  queue.process("in", async (message) => await Promise.resolve(on("mid", message)));
  queue.process("mid", async (message) => await Promise.resolve(middle(message)));
  queue.process("out", async ({ lane, body }) => void out.push(await Promise.resolve(`${lane} ${body.toString()}`)));
  await queue.opened();
  return { queue, out, [Symbol.asyncDispose]: () => local.node.close() };
}

const numbers = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => String(index + 1));
const ofLane = (lane: string, out: readonly string[]) => out.filter((one) => one.startsWith(`${lane} `));

test.concurrent("what passes through a stage at once overtakes nothing that failed there and waits in its lane", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using a = await startRelay(database.url, (body) => Number(body) % 5 === 3);
  const lanes = ["one", "two", "three"];
  const bodies = numbers(40);
  await Promise.all(lanes.flatMap((lane) => bodies.map(async (body) => await a.queue.enqueue({ lane, body }))));
  await expect.poll(() => a.out.length, { timeout: 60_000 }).toBe(lanes.length * bodies.length);
  for (const lane of lanes) expect(ofLane(lane, a.out)).toEqual(bodies.map((body) => `${lane} ${body}`));
  const waited = (await a.queue.lanes()).filter(({ stage }) => stage === "mid");
  // The first, which made its lane, and the eight that failed lay in it; none of the others did, all that there was to do.
  expect(waited.map(({ tail }) => tail)).toEqual([9, 9, 9]);
});

test.concurrent("nothing passes through a stage whose lane is paused, and then all of it comes in order", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using a = await startRelay(database.url, () => false);
  // The first makes the lane, and goes through it; the second finds nothing there.
  for (const body of ["1", "2"]) {
    await a.queue.enqueue({ lane: "one", body });
    await expect.poll(() => a.out.length).toBe(Number(body));
  }
  const middle = { stage: "mid", lane: "one" };
  await a.queue.pause(middle);
  for (const body of ["3", "4", "5"]) await a.queue.enqueue({ lane: "one", body });
  await expect.poll(async () => await a.queue.depth()).toEqual({ in: 0, mid: 3, out: 0 });
  expect(a.out).toEqual(["one 1", "one 2"]);
  await a.queue.resume(middle);
  await expect.poll(() => a.out).toEqual(["1", "2", "3", "4", "5"].map((body) => `one ${body}`));
  expect((await a.queue.lanes()).find(({ stage }) => stage === "mid")?.tail).toBe(4);
});
