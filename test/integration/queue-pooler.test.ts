import { expect, test } from "vitest";
import { createQueue } from "../../src/queue/queue.js";
import { calm, clusterNode } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { startPgBouncer } from "../support/pgbouncer.js";
import { createTestDatabase } from "../support/postgres.js";
import { isMissing } from "../support/programs.js";

test.skipIf(isMissing("pgbouncer"))(
  "behind PgBouncer in transaction mode a queue takes in, hands on and keeps the order",
  async () => {
    await using database = await createTestDatabase();
    await using pooler = await startPgBouncer(database.url);
    await using first = await startLocalNode(clusterNode(pooler.through(database.url), "first", calm));
    const queue = createQueue(first.node, {
      name: "orders",
      stages: ["ingress", "outbound"],
      batch: 3,
      concurrency: 4,
    });
    const lanes = ["a", "b", "c", "d", "e"];
    const seen = new Map<string, string[]>(lanes.map((lane) => [lane, []]));
    queue.process("ingress", async ({ lane, body }) => [{ stage: "outbound", lane, body }]);
    queue.process("outbound", async ({ lane, body }) => {
      seen.get(lane)?.push(body.toString());
    });
    await expect
      .poll(() =>
        queue.enqueueMany([]).then(
          () => "open",
          () => "shut",
        ),
      )
      .toBe("open");
    const numbers = Array.from({ length: 40 }, (_, index) => `${index}`);
    // Many calls at a time, so that several connections of the pooler are in use.
    await Promise.all(
      numbers.map((body) => queue.enqueueMany(lanes.map((lane) => ({ lane, body, key: `${lane}-${body}` })))),
    );
    await expect.poll(() => queue.depth()).toEqual({ ingress: 0, outbound: 0 });
    expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(lanes.map((lane) => [lane, numbers])));
  },
);
