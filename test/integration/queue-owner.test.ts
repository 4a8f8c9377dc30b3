import { once } from "node:events";
import { expect, test } from "vitest";
import { createQueue } from "../../src/queue/queue.js";
import { calm, clusterNode } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { createTestDatabase, withClient } from "../support/postgres.js";

test("a node makes a queue once, and keeps it", async () => {
  await using database = await createTestDatabase();
  await using local = await startLocalNode(clusterNode(database.url, "a", calm));
  const queue = createQueue(local.node, { name: "orders" });
  expect(() => createQueue(local.node, { name: "orders", role: "billing" })).toThrow('has a queue "orders" already');
  expect(local.node.queues.get("orders")).toBe(queue);
  expect(local.node.queues.get("parcels")).toBeUndefined();
  await expect(local.node.queues.redrive("parcels", ["1"])).rejects.toMatchObject({ code: "REFUSED" });
});

test("a queue belongs to the role that led it first: the leader of another one gives up, and says why", async () => {
  await using database = await createTestDatabase();
  await using a = await startLocalNode(clusterNode(database.url, "a", calm));
  await using b = await startLocalNode(clusterNode(database.url, "b", calm));
  const queue = createQueue(a.node, { name: "orders" });
  await expect
    .poll(() =>
      queue.enqueue({ lane: "x", body: "one" }).then(
        () => "taken in",
        () => "not yet",
      ),
    )
    .toBe("taken in");
  const lost = once(b.node.role("billing"), "lost");
  const stranger = createQueue(b.node, { name: "orders", role: "billing" });
  expect(await lost).toMatchObject([{ role: "billing", reason: "work_failed" }]);
  const told = JSON.stringify(b.log);
  expect(told).toContain('Queue \\"orders\\" belongs to role \\"orders\\", not \\"billing\\"');
  await expect(stranger.enqueue({ lane: "x", body: "two" })).rejects.toMatchObject({ code: "NOT_LEADER" });
  await queue.enqueue({ lane: "x", body: "three" });
  expect(await queue.depth()).toEqual({ ingress: 2 });
  const { rows } = await withClient(database.url, (client) => client.query("select name, role from holdfast.queues"));
  expect(rows).toEqual([{ name: "orders", role: "orders" }]);
});
