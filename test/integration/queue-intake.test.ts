import { expect, test } from "vitest";
import { createQueue } from "../../src/queue/queue.js";
import { calm, clusterNode } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { createTestDatabase } from "../support/postgres.js";

test("callers with keys and handlers that produce share a lane, and each message gets a place of its own", async () => {
  await using database = await createTestDatabase();
  await using local = await startLocalNode(clusterNode(database.url, "a", calm));
  const queue = createQueue(local.node, { name: "orders", stages: ["ingress", "routed"], batch: 5 });
  const routed: string[] = [];
  queue.process("ingress", async ({ body }) => await Promise.resolve([{ stage: "routed", lane: "all", body }]));
  queue.process("routed", async ({ body }) => await Promise.resolve(void routed.push(body.toString())));
  await expect
    .poll(() =>
      queue.enqueue({ lane: "opening", body: "first" }).then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
  const count = 150;
  const numbers = Array.from({ length: count }, (_, index) => index);
  await Promise.all([
    ...numbers.map((n) => queue.enqueue({ lane: `lane-${n % 7}`, body: `produced ${n}` })),
    ...numbers.map((n) => queue.enqueue({ stage: "routed", lane: "all", key: `k${n}`, body: `direct ${n}` })),
  ]);
  await expect.poll(() => routed.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(2 * count + 1);
  expect(routed.filter((text) => text.startsWith("direct"))).toEqual(numbers.map((n) => `direct ${n}`));
  expect(routed.toSorted()).toEqual([...new Set(routed)].toSorted());
  expect(local.log.filter(({ level }) => level >= 40)).toEqual([]);
});
