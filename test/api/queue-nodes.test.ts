import { expect, test } from "vitest";
import { createQueue } from "../../src/queue/queue.js";
import { createServer } from "../../src/server/serve.js";
import { calm, clusterNode } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { createTestDatabase } from "../support/postgres.js";

/** A node with the queue and its API, without a port. */
async function startServed(url: string, id: string) {
  const settings = { ...clusterNode(url, id, calm), api: { publicUrl: `http://${id}:1` } };
  const local = await startLocalNode(settings);
  await local.node.access.refresh();
  const queue = createQueue(local.node, { name: "orders", role: "scheduler", policy: "block", maxAttempts: 1 });
  const app = createServer(local.node);
  const stop = async (): Promise<void> => {
    await app.close();
    await local.node.close();
  };
  return { queue, app, node: local.node, [Symbol.asyncDispose]: stop };
}

test("a standby shows, pauses and skips the leader's lanes, and sends a redrive to the leader", async () => {
  await using database = await createTestDatabase();
  await using a = await startServed(database.url, "a");
  const open = async () =>
    await a.queue.enqueue({ lane: "opening", body: "" }).then(
      () => true,
      () => false,
    );
  await expect.poll(open).toBe(true);
  await using b = await startServed(database.url, "b");
  let broken = true;
  const done: string[] = [];
  a.queue.process("ingress", async ({ lane, body }) => {
    if (lane === "a/b" && broken) throw new Error("no such account");
    await Promise.resolve(void done.push(`${lane} ${body.toString()}`));
  });
  await a.queue.enqueueMany(["1", "2"].map((body) => ({ lane: "a/b", body })));
  const lanes = async (query: string) =>
    (await b.app.inject({ url: `/queue/lanes?${query}` })).json<{ items: object[] }>().items;
  await expect
    .poll(async () => await lanes("state=blocked"))
    .toMatchObject([
      { queue: "orders", role: "scheduler", lane: "a/b", depth: 2, attempts: 1, last_error: "no such account" },
    ]);
  const post = async (app: typeof a.app, url: string) => await app.inject({ method: "POST", url });
  broken = false;
  expect((await post(b.app, "/queue/lanes/a%2Fb/skip")).json()).toMatchObject({ depth: 1, blocked: false });
  await expect.poll(() => done).toContain("a/b 2");
  expect((await post(b.app, "/queue/lanes/a%2Fb/pause")).json()).toMatchObject({ state: "paused" });

  const [letter] = (await b.app.inject({ url: "/dead-letters" })).json<{ items: { id: string }[] }>().items;
  const redrive = `/dead-letters/${letter?.id}/redrive`;
  expect((await post(b.app, redrive)).json()).toEqual({
    error: "NOT_LEADER",
    leader_id: "a",
    leader_url: "http://a:1",
    leader_epoch: 1,
    node_id: "b",
    role: "STANDBY",
  });
  expect((await post(a.app, redrive)).json()).toMatchObject({ id: letter?.id, lane: "a/b", position: 3 });
  const again = await post(a.app, redrive);
  expect(again.statusCode).toBe(409);
  expect(again.json()).toMatchObject({ error: "REFUSED", message: expect.stringContaining("was redriven at") });
  await expect.poll(async () => await lanes("state=paused")).toMatchObject([{ depth: 1 }]);
  expect(done).not.toContain("a/b 1");
  await post(b.app, "/queue/lanes/a%2Fb/resume");
  await expect.poll(() => done).toContain("a/b 1");
});
