import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Role } from "../../src/election/core/names.js";
import { memoryHarness, Player, postgresHarness, type StoreHarness } from "./harness.js";
import { messageAt, QueueLeader, queue, settlement, stateOf } from "./queue-leader.js";

/** What becomes of work whose worker is gone, and which lanes a new leader hears of. */
describe.each([
  ["memory", memoryHarness],
  ["postgres", postgresHarness],
] as const)("the queue of the %s store", (_name, makeHarness) => {
  let harness: StoreHarness;
  let a: Player;
  let b: Player;
  let leader: QueueLeader;
  let lane: number;

  beforeEach(async () => {
    harness = await makeHarness();
    a = await Player.join(harness, "a");
    b = await Player.join(harness, "b");
    leader = await QueueLeader.elect(a);
    lane = await leader.lane("x");
    await leader.put(lane, "one", "two", "three");
  });

  afterEach(async () => {
    a.crash();
    b.crash();
    await harness[Symbol.asyncDispose]();
  });

  const order = { queue, maxReclaims: 5, own: false };

  describe("recovery", () => {
    it("opens the first segment, and finds it again", async () => {
      expect(leader.segment).toBeGreaterThan(0);
      expect(leader.recovery).toMatchObject({ lanes: [], reclaimed: 0, quarantined: 0 });
      const next = await QueueLeader.succeed(a, leader, b);
      expect(next.segment).toBe(leader.segment);
      const { segment } = await next.book.recover(next.fence, { ...order, queue: "parcels" });
      expect(segment).not.toBe(leader.segment);
    });

    it("takes all that lower epochs have in flight, whatever its lease, and counts the crash apart", async () => {
      const idle = await leader.lane("idle");
      await leader.claim(1, [lane], 2, 3_600_000);
      const next = await QueueLeader.succeed(a, leader, b);
      expect(next.recovery).toMatchObject({ reclaimed: 1, quarantined: 0 });
      expect(next.recovery.lanes).toEqual([
        expect.objectContaining({ id: lane, done: 0, tail: 3, attempts: 0, reclaims: 1 }),
        expect.objectContaining({ id: idle, done: 0, tail: 0, reclaims: 0 }),
      ]);
      expect(await next.take(1, [lane])).toEqual(["one", "two", "three"]);
    });

    it("leaves its own epoch's claims alone, unless their leader has lost track of them, which costs nothing", async () => {
      await leader.claim(1, [lane], 2);
      const { book, fence } = leader;
      expect(await book.recover(fence, order)).toMatchObject({ reclaimed: 0 });
      expect(await leader.claim(2, [lane])).toEqual([]);
      expect(await leader.settle(settlement(lane, 1, 1, { keeps: true }))).toEqual([]);
      expect(await book.recover(fence, { ...order, own: true })).toMatchObject({ reclaimed: 1, quarantined: 0 });
      expect(await leader.row(lane)).toMatchObject({ done: 1, reclaims: 0, attempts: 0 });
      expect(await leader.settle(settlement(lane, 1, 2))).toEqual([lane]);
      expect(await leader.take(3, [lane])).toEqual(["two", "three"]);
    });

    it("leaves other queues alone", async () => {
      await leader.claim(1, [lane], 1);
      await a.release(leader.fence.epoch);
      const fence = b.fence(await b.lead());
      const elsewhere = await leader.book.recover(fence, { ...order, queue: "parcels" });
      expect(elsewhere).toMatchObject({ reclaimed: 0, lanes: [] });
      expect(await leader.book.recover(fence, order)).toMatchObject({ reclaimed: 1 });
    });

    it("gives the queue to the role that led it first: the leader of another one is refused, and changes nothing", async () => {
      await leader.claim(1, [lane], 1);
      const before = await stateOf(leader.book);
      await a.store.ensureRoles([{ role: "billing" as Role, lockKey: null }]);
      const stranger = { ...leader.fence, role: "billing" as Role };
      const refused = leader.book.recover(stranger, { ...order, own: true });
      await expect(refused).rejects.toMatchObject({ code: "REFUSED", message: expect.stringContaining('"scheduler"') });
      expect(await stateOf(leader.book)).toEqual(before);
      expect(await leader.settle(settlement(lane, 1, 1))).toEqual([]);
    });

    it("quarantines a head that was in flight in too many crashes, and the lane goes on behind it", async () => {
      let [from, to] = [a, b];
      for (const crash of [1, 2]) {
        await leader.claim(1, [lane], 2);
        leader = await QueueLeader.succeed(from, leader, to, 2);
        [from, to] = [to, from];
        expect(leader.recovery).toMatchObject({ reclaimed: 1, quarantined: 0 });
        expect(await leader.row(lane)).toMatchObject({ done: 0, reclaims: crash });
      }
      await leader.claim(1, [lane], 2);
      leader = await QueueLeader.succeed(from, leader, to, 2);
      expect(leader.recovery).toMatchObject({ reclaimed: 1, quarantined: 1 });
      expect(leader.recovery.lanes).toMatchObject([{ id: lane, done: 1, reclaims: 0 }]);
      expect(await leader.book.deadLetters(queue, { limit: 9 })).toMatchObject([
        { lane: "x", position: 1, reason: "in flight in 3 crashes in a row", attempts: 0, reclaims: 3 },
      ]);
      expect(await leader.take(1, [lane])).toEqual(["two", "three"]);
    });

    it("counts from the start again for the next head", async () => {
      await leader.claim(1, [lane], 2);
      const next = await QueueLeader.succeed(a, leader, b, 1);
      await next.claim(1, [lane], 2);
      await next.settle(settlement(lane, 1, 1, { keeps: true }));
      const third = await QueueLeader.succeed(b, next, a, 1);
      expect(third.recovery).toMatchObject({ reclaimed: 1, quarantined: 0 });
      expect(await third.row(lane)).toMatchObject({ done: 1, reclaims: 1 });
    });

    it("spends no attempt, and forgets none", async () => {
      await leader.claim(1, [lane], 1);
      const head = { kind: "retry", attempts: 3, waitMs: 0, error: "boom" } as const;
      await leader.settle(settlement(lane, 1, 0, { head }));
      await leader.claim(2, [lane], 1);
      const next = await QueueLeader.succeed(a, leader, b);
      expect(next.recovery.lanes).toMatchObject([{ attempts: 3, reclaims: 1, lastError: "boom" }]);
    });
  });

  describe("a sweep", () => {
    it("gives back only what is leased no more, at no cost, and its late settlement is named", async () => {
      const other = await leader.lane("y");
      await leader.put(other, "y1");
      await leader.claim(1, [lane], 2, 10_000);
      await leader.claim(2, [other], 1, 60_000);
      expect(await leader.book.sweep(leader.fence, queue)).toEqual([]);
      await harness.advance(10_001);
      expect(await leader.book.sweep(leader.fence, "parcels")).toEqual([]);
      const swept = await leader.book.sweep(leader.fence, queue);
      expect(swept).toMatchObject([{ id: lane, done: 0, tail: 3, attempts: 0, reclaims: 0 }]);
      expect(await leader.settle(settlement(lane, 1, 1))).toEqual([lane]);
      expect(await leader.take(3, [lane, other])).toEqual(["one", "two", "three"]);
    });

    it("spares what was renewed, which only the epoch that claimed it can", async () => {
      await leader.claim(1, [lane], 1, 10_000);
      await leader.book.renew(leader.fence, [lane], 30_000);
      await harness.advance(20_000);
      expect(await leader.book.sweep(leader.fence, queue)).toEqual([]);
      await a.release(leader.fence.epoch);
      const fence = b.fence(await b.lead());
      await leader.book.renew(fence, [lane], 3_600_000);
      await harness.advance(10_001);
      expect(await leader.book.sweep(fence, queue)).toMatchObject([{ id: lane }]);
    });
  });

  describe("a lane at rest", () => {
    const found = async (by: QueueLeader): Promise<readonly number[]> =>
      (await by.book.recover(by.fence, order)).lanes.map(({ id }) => id);
    let idle: number;

    beforeEach(async () => {
      idle = await leader.lane("idle");
      await leader.book.rest(leader.fence, [idle]);
    });

    it("is not looked at by a new leader", async () => {
      expect(await found(leader)).toEqual([lane]);
      expect((await leader.book.lanes(queue)).map(({ id }) => id)).toContain(idle);
    });

    it("is found again by whom it was woken, opened or paused for", async () => {
      const { book, fence } = leader;
      for (const wake of [
        () => leader.lane("idle"),
        () => book.setPaused(queue, { stage: "in", lane: "idle" }, true),
        () => book.append(fence, leader.batch([messageAt(idle, 1, "one")], [idle])),
      ] as const) {
        await book.rest(fence, [idle]);
        expect(await found(leader)).toEqual([lane]);
        await wake();
        expect(await found(leader)).toEqual([lane, idle]);
      }
    });

    it("is none that holds something, should it have been asked to rest before that came", async () => {
      await leader.put(lane, "one");
      await leader.book.rest(leader.fence, [lane]);
      const next = await QueueLeader.succeed(a, leader, b);
      expect(next.recovery.lanes).toMatchObject([{ id: lane }]);
    });

    it("is none that has something in flight", async () => {
      await leader.claim(1, [lane], 1);
      await leader.book.rest(leader.fence, [lane]);
      const next = await QueueLeader.succeed(a, leader, b);
      expect(next.recovery).toMatchObject({ reclaimed: 1, lanes: [{ id: lane }] });
    });
  });
});
