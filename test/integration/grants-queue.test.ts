import { expect, test } from "vitest";
import { Player, postgresHarness } from "../contract/harness.js";
import { messageAt, QueueLeader, queue, settlement } from "../contract/queue-leader.js";
import { createLogin, migratedBy } from "../support/login-role.js";

test("nodes that own nothing run a queue: take in, hand out, bury, redrive, recover, open and drop segments", async () => {
  await using migrator = await createLogin("migrator");
  await using role = await createLogin("node");
  await using reader = await createLogin("reader");
  await using database = await migratedBy(migrator, role, reader);
  await using harness = await postgresHarness({ database, url: role.at(database.url) });
  await using first = await Player.join(harness, "first");
  await using second = await Player.join(harness, "second");
  const leader = await QueueLeader.elect(first);
  const { book, fence } = leader;
  const lane = await leader.lane("x");
  await book.append(fence, leader.batch([messageAt(lane, 1, "one", "k1"), messageAt(lane, 2, "two")]));
  await leader.claim(1, [lane]);
  await book.renew(fence, [lane], 60_000);
  const dead = { kind: "dead", attempts: 1, error: "boom" } as const;
  expect(await leader.settle(settlement(lane, 1, 0, { head: dead }))).toEqual([]);
  const [letter] = await book.deadLetters(queue, { limit: 1 });
  const ids = [letter?.id ?? ""];
  expect(await book.redrive(fence, ids, leader.batch([messageAt(lane, 3, "one")], [lane]))).toEqual(ids);
  expect(await book.setPaused(queue, { stage: "in", lane: "x" }, false)).toMatchObject({ tail: 3 });
  expect(await book.sweep(fence, queue)).toEqual([]);
  await leader.claim(2, [lane], 1);

  const next = await QueueLeader.succeed(first, leader, second);
  expect(next.recovery).toMatchObject({ reclaimed: 1, segment: leader.segment });
  expect(await next.take(1, [lane])).toEqual(["two", "one"]);
  await next.settle(settlement(lane, 1, 3, { doneSegment: next.segment }));
  await next.book.rest(next.fence, [lane]);
  next.segment = await next.book.openSegment(next.fence, queue);
  expect(await next.book.dropSegments(next.fence, queue, 0)).toEqual([leader.segment]);
  expect((await book.findKeys(queue, ["k1"])).size).toBe(0);
});
