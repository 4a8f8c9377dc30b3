import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { StaleEpochError } from "../../src/errors.js";
import { memoryHarness, Player, postgresHarness, type StoreHarness } from "./harness.js";
import { QueueLeader, queue, settlement, stateOf } from "./queue-leader.js";

/** What any process may do to a lane, and how its leader hears of it. */
describe.each([
  ["memory", memoryHarness],
  ["postgres", postgresHarness],
] as const)("the queue of the %s store", (_name, makeHarness) => {
  let harness: StoreHarness;
  let player: Player;
  let leader: QueueLeader;
  let lane: number;
  const x = { stage: "in", lane: "x" } as const;

  beforeEach(async () => {
    harness = await makeHarness();
    player = await Player.join(harness, "a");
    leader = await QueueLeader.elect(player);
    lane = await leader.lane("x");
    await leader.put(lane, "one", "two");
  });

  afterEach(async () => {
    player.crash();
    await harness[Symbol.asyncDispose]();
  });

  describe("a lane that was steered", () => {
    it("is found by its leader until it is taken, and by nobody else's", async () => {
      const { book, fence } = leader;
      const other = await leader.lane("y");
      await book.openLanes(fence, "parcels", [x]);
      expect(await book.steered(queue)).toEqual([]);
      await book.setPaused("parcels", x, true);
      expect(await book.steered(queue)).toEqual([]);
      await book.setPaused(queue, x, true);
      await book.setPaused(queue, x, true);
      await book.setPaused(queue, { ...x, lane: "y" }, false);
      expect(new Set(await book.steered(queue))).toEqual(new Set([lane, other]));
      expect(await book.takeSteered(fence, [lane])).toEqual([
        expect.objectContaining({ id: lane, paused: true, done: 0, tail: 2 }),
      ]);
      expect(await book.steered(queue)).toEqual([other]);
    });

    it("can be read again without its mark, and a lane that is not there says nothing", async () => {
      const { book, fence } = leader;
      await book.setPaused(queue, x, true);
      for (let look = 0; look < 2; look += 1) {
        expect(await book.takeSteered(fence, [lane, lane + 1_000])).toMatchObject([{ id: lane, paused: true }]);
      }
    });

    it("keeps its mark where the leader that takes it has been deposed", async () => {
      const { book, fence } = leader;
      await book.setPaused(queue, x, true);
      await player.release(fence.epoch);
      await player.lead();
      await expect(book.takeSteered(fence, [lane])).rejects.toBeInstanceOf(StaleEpochError);
      expect(await book.steered(queue)).toEqual([lane]);
    });

    it("is looked at by a new leader, also after it was put to rest", async () => {
      const { book, fence } = leader;
      const idle = await leader.lane("idle");
      await book.setPaused(queue, { ...x, lane: "idle" }, true);
      await book.rest(fence, [idle]);
      await book.takeSteered(fence, [idle]);
      const { lanes } = await book.recover(fence, { queue, maxReclaims: 5, own: false });
      expect(lanes.map(({ id }) => id)).toContain(idle);
    });

    it("keeps its claim, which is finished and then not handed out again", async () => {
      const { book, fence } = leader;
      await leader.claim(1, [lane], 2);
      await book.setPaused(queue, x, true);
      await book.takeSteered(fence, [lane]);
      expect(await leader.settle(settlement(lane, 1, 1))).toEqual([]);
      expect(await leader.row(lane)).toMatchObject({ done: 1, paused: true, attempts: 0 });
      expect(await leader.claim(2, [lane])).toEqual([]);
    });
  });

  describe("skipping", () => {
    const blocked = { kind: "blocked", attempts: 3, error: "no such account" } as const;

    it("sends the head of a blocked lane to the dead letters with its last error, and the lane goes on", async () => {
      const { book } = leader;
      await leader.claim(1, [lane], 1);
      await leader.settle(settlement(lane, 1, 0, { head: blocked }));
      await leader.book.takeSteered(leader.fence, [lane]);
      expect(await book.skip(queue, x)).toEqual({
        kind: "skipped",
        lane: expect.objectContaining({ id: lane, done: 1, tail: 2, attempts: 0, blocked: false, lastError: null }),
      });
      expect(await book.deadLetters(queue, { limit: 9 })).toMatchObject([
        { lane: "x", position: 1, reason: "no such account", attempts: 3 },
      ]);
      expect(await book.steered(queue)).toEqual([lane]);
      expect(await leader.take(2, [lane])).toEqual(["two"]);
      expect(await leader.settle(settlement(lane, 2, 2))).toEqual([]);
    });

    it("happens once, however often it is asked for at the same time", async () => {
      await leader.claim(1, [lane], 1);
      await leader.settle(settlement(lane, 1, 0, { head: blocked }));
      const outcomes = await Promise.all([1, 2, 3].map(async () => await leader.book.skip(queue, x)));
      expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["not_blocked", "not_blocked", "skipped"]);
      expect(await leader.row(lane)).toMatchObject({ done: 1 });
    });

    it("leaves a lane alone that is not blocked: free, in flight, waiting, paused or not there", async () => {
      const { book } = leader;
      const before = await stateOf(book);
      expect(await book.skip(queue, x)).toMatchObject({ kind: "not_blocked", lane: { done: 0 } });
      expect(await book.skip(queue, { ...x, stage: "out" })).toEqual({ kind: "no_lane" });
      expect(await book.skip("parcels", x)).toEqual({ kind: "no_lane" });
      await leader.claim(1, [lane], 1);
      expect(await book.skip(queue, x)).toMatchObject({ kind: "not_blocked" });
      await leader.settle(settlement(lane, 1, 0));
      expect(await stateOf(book)).toEqual(before);
      expect(await book.steered(queue)).toEqual([]);
      await leader.claim(2, [lane], 1);
      const retry = { kind: "retry", attempts: 1, waitMs: 60_000, error: "boom" } as const;
      await leader.settle(settlement(lane, 2, 0, { head: retry }));
      await book.setPaused(queue, x, true);
      expect(await book.skip(queue, x)).toMatchObject({ kind: "not_blocked" });
      expect(await book.deadLetters(queue, { limit: 9 })).toEqual([]);
    });

    it("skips a blocked head also while its lane is paused, which stays so", async () => {
      const { book } = leader;
      await leader.claim(1, [lane], 1);
      await leader.settle(settlement(lane, 1, 0, { head: blocked }));
      await book.setPaused(queue, x, true);
      expect(await book.skip(queue, x)).toMatchObject({ kind: "skipped", lane: { done: 1, paused: true } });
      expect(await leader.claim(2, [lane])).toEqual([]);
    });
  });
});
