import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HoldfastError, StaleEpochError } from "../../src/errors.js";
import type { ClaimWish, StoredMessage } from "../../src/store/queue-contract.js";
import { memoryHarness, Player, postgresHarness, type StoreHarness } from "./harness.js";
import { messageAt, QueueLeader, queue, settlement, stateOf } from "./queue-leader.js";

/** Taking in, claiming and settling: what both stores keep, whoever runs a queue on them. */
describe.each([
  ["memory", memoryHarness],
  ["postgres", postgresHarness],
] as const)("the queue of the %s store", (_name, makeHarness) => {
  let harness: StoreHarness;
  let player: Player;
  let leader: QueueLeader;
  let lane: number;

  beforeEach(async () => {
    harness = await makeHarness();
    player = await Player.join(harness, "a");
    leader = await QueueLeader.elect(player);
    lane = await leader.lane("x");
  });

  afterEach(async () => {
    player.crash();
    await harness[Symbol.asyncDispose]();
  });

  const failed = { attempts: 1, error: "boom" };

  it("refuses every write of a deposed epoch, and nothing of it is left", async () => {
    const { book, fence } = leader;
    await leader.put(lane, "one", "two", "three");
    await leader.claim(1, [lane], 1);
    await leader.settle(settlement(lane, 1, 0, { head: { kind: "dead", ...failed } }));
    await leader.claim(2, [lane], 1);
    await leader.lane("idle");
    await player.release(fence.epoch);
    await player.lead();
    const before = await stateOf(book);
    const late = leader.batch([messageAt(lane, 4, "late", "late")]);
    const taken = leader.batch([messageAt(lane, 3, "late", "late")]);
    const writes = [
      book.append(fence, taken),
      book.settle(fence, [settlement(lane, 2, 2)], taken),
      book.recover(fence, { queue, maxReclaims: 5, own: true }),
      book.openLanes(fence, queue, [{ stage: "in", lane: "late" }]),
      book.append(fence, late),
      book.claim(fence, { queue, claim: 3, leaseMs: 1_000, wishes: [{ lane, limit: 1 }] }),
      book.settle(fence, [settlement(lane, 2, 2)], null),
      book.settle(fence, [settlement(lane, 2, 2)], late),
      book.settle(fence, [settlement(lane, 9, 2)], late),
      book.renew(fence, [lane], 1_000_000),
      book.sweep(fence, queue),
      book.rest(fence, [lane]),
      book.redrive(fence, { ...late, letters: [{ id: "1", lane, position: 4 }] }),
      book.redrive(fence, { ...late, letters: [{ id: "99", lane, position: 4 }] }),
      book.takeSteered(fence, [lane]),
      book.openSegment(fence, queue),
      book.dropSegments(fence, queue, 0),
    ];
    for (const outcome of await Promise.allSettled(writes)) {
      expect(outcome).toMatchObject({ status: "rejected", reason: expect.any(StaleEpochError) });
    }
    expect(await stateOf(book)).toEqual(before);
    expect((await book.findKeys(queue, ["late"])).size).toBe(0);
    const next = { ...fence, epoch: player.fence(fence.epoch + 1n).epoch };
    const recovered = await book.recover(next, { queue, maxReclaims: 5, own: false });
    expect(recovered).toMatchObject({ segment: leader.segment, reclaimed: 1 });
    expect(recovered.lanes).toHaveLength(2);
  });

  describe("a lane", () => {
    it("is made once, however often it is opened, and told where it stands", async () => {
      const names = [
        { stage: "in", lane: "x" },
        { stage: "in", lane: "y" },
        { stage: "in", lane: "y" },
      ];
      const opened = await leader.book.openLanes(leader.fence, queue, names);
      expect(opened.map(({ lane: name }) => name).sort()).toEqual(["x", "y"]);
      expect(opened.find(({ lane: name }) => name === "x")?.id).toBe(lane);
      await leader.put(lane, "one", "two");
      const [again] = await leader.book.openLanes(leader.fence, queue, [{ stage: "in", lane: "x" }]);
      expect(again).toEqual({
        id: lane,
        stage: "in",
        lane: "x",
        done: 0,
        tail: 2,
        attempts: 0,
        reclaims: 0,
        waitMs: 0,
        paused: false,
        blocked: false,
        lastError: null,
      });
    });

    it("is another in another stage, and in another queue", async () => {
      const { book, fence } = leader;
      const [elsewhere] = await book.openLanes(fence, "parcels", [{ stage: "in", lane: "x" }]);
      const ids = new Set([lane, await leader.lane("x", "out"), elsewhere?.id]);
      expect(ids.size).toBe(3);
      expect(await book.lanes("parcels")).toEqual([elsewhere]);
      expect((await book.lanes(queue)).map(({ stage }) => stage)).toEqual(["in", "out"]);
    });
  });

  describe("an append", () => {
    it("is handed out as it was taken in", async () => {
      const { book, fence } = leader;
      const bytes = Buffer.from([0, 255, 10, 13, 28]);
      const headers = { type: "ADT^A01", "": 'qu"ote\\ ☃' };
      const first = { lane, position: 1, key: "k", headers, body: bytes };
      const empty = { lane, position: 2, key: null, headers: null, body: Buffer.alloc(0) };
      expect(await book.append(fence, leader.batch([first, empty]))).toBe(2);
      const found = await leader.claim(1, [lane]);
      expect(found).toEqual([
        { ...first, segment: leader.segment, at: expect.any(Number), ageMs: expect.any(Number) },
        { ...empty, segment: leader.segment, at: expect.any(Number), ageMs: expect.any(Number) },
      ]);
      expect(Math.abs((found[0]?.at ?? 0) - Date.now())).toBeLessThan(60_000);
    });

    it("adds nothing when it is asked for again with the same positions: an outcome that was not known", async () => {
      const { book, fence } = leader;
      const batch = leader.batch([messageAt(lane, 1, "one", "k1"), messageAt(lane, 2, "two")]);
      expect(await book.append(fence, batch)).toBe(2);
      expect(await book.append(fence, batch)).toBe(0);
      expect(await leader.take(1, [lane])).toEqual(["one", "two"]);
    });

    it("keeps what was there when others come for its places, and takes in nothing of what comes with them", async () => {
      await leader.put(lane, "one");
      const batch = leader.batch([messageAt(lane, 1, "other"), messageAt(lane, 2, "two", "k2")]);
      expect(await leader.book.append(leader.fence, batch)).toBe(0);
      expect((await leader.book.findKeys(queue, ["k2"])).size).toBe(0);
      expect(await leader.take(1, [lane])).toEqual(["one"]);
    });

    it("makes its keys known in its own queue, and only those", async () => {
      const { book, fence } = leader;
      await book.append(fence, leader.batch([messageAt(lane, 1, "one", "k1"), messageAt(lane, 2, "two", "k2")]));
      expect(await book.findKeys(queue, ["k2", "k1", "k0"])).toEqual(
        new Map([
          ["k1", { lane, position: 1 }],
          ["k2", { lane, position: 2 }],
        ]),
      );
      expect((await book.findKeys("parcels", ["k1"])).size).toBe(0);
    });

    it("to a segment that is not there is refused as a whole, with an error of the catalogue", async () => {
      const batch = { ...leader.batch([messageAt(lane, 1, "one", "k1")]), segment: leader.segment + 100 };
      const refused = await leader.book.append(leader.fence, batch).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(HoldfastError);
      expect(refused).toMatchObject({ code: "DATABASE_REFUSED" });
      expect((await leader.book.findKeys(queue, ["k1"])).size).toBe(0);
      expect(await leader.claim(1, [lane])).toEqual([]);
    });
  });

  describe("a claim of messages that the leader has at hand", () => {
    const known = (position: number, body: string): StoredMessage => ({
      ...messageAt(lane, position, body),
      segment: leader.segment,
      at: 7,
      ageMs: 0,
    });
    const claim = async (...wishes: readonly ClaimWish[]) =>
      await leader.book.claim(leader.fence, { queue, claim: 1, leaseMs: 60_000, wishes });

    it("takes just these, as they are, beside others that are read; and they are settled like those", async () => {
      const other = await leader.lane("y");
      await leader.put(lane, "x1", "x2", "x3");
      await leader.put(other, "y1");
      const atHand = [known(1, "x1"), known(2, "x2")];
      const found = await claim({ lane: other, limit: 5 }, { lane, limit: 5, known: atHand });
      const bodies = (of: number) => found.filter((one) => one.lane === of).map(({ body }) => body.toString());
      expect([bodies(lane), bodies(other)]).toEqual([["x1", "x2"], ["y1"]]);
      expect(found.filter(({ at }) => at === 7)).toHaveLength(2);
      expect(await leader.take(2, [lane], 5)).toEqual([]);
      expect(await leader.settle(settlement(lane, 1, 3))).toEqual([lane]);
      expect(await leader.settle(settlement(lane, 1, 2))).toEqual([]);
      expect(await leader.take(3, [lane], 5)).toEqual(["x3"]);
    });

    it("takes nothing where they are not the next any more, or somebody holds the lane", async () => {
      await leader.put(lane, "x1", "x2");
      expect(await claim({ lane, limit: 5, known: [known(2, "x2")] })).toEqual([]);
      await leader.book.setPaused(queue, { stage: "in", lane: "x" }, true);
      expect(await claim({ lane, limit: 5, known: [known(1, "x1")] })).toEqual([]);
      await leader.book.setPaused(queue, { stage: "in", lane: "x" }, false);
      await leader.claim(2, [lane], 1);
      expect(await claim({ lane, limit: 5, known: [known(1, "x1")] })).toEqual([]);
      const retry = { kind: "retry", waitMs: 60_000, ...failed } as const;
      await leader.settle(settlement(lane, 2, 0, { head: retry }));
      expect(await claim({ lane, limit: 5, known: [known(1, "x1")] })).toEqual([]);
    });
  });

  describe("a claim", () => {
    it("hands out the first messages of each of its lanes, in order", async () => {
      const other = await leader.lane("y");
      await leader.put(lane, "x1", "x2", "x3");
      await leader.put(other, "y1");
      await leader.put(other, "y2");
      const wishes = [
        { lane: other, limit: 5 },
        { lane, limit: 2 },
      ];
      const found = await leader.book.claim(leader.fence, { queue, claim: 1, leaseMs: 60_000, wishes });
      expect(found.map((message) => [message.lane, message.position, message.body.toString()])).toEqual([
        [lane, 1, "x1"],
        [lane, 2, "x2"],
        [other, 1, "y1"],
        [other, 2, "y2"],
      ]);
    });

    it("hands out nothing of a lane that has something in flight, also for another message", async () => {
      await leader.put(lane, "one", "two");
      expect(await leader.take(1, [lane], 1)).toEqual(["one"]);
      expect(await leader.claim(2, [lane])).toEqual([]);
      await leader.settle(settlement(lane, 1, 1));
      expect(await leader.take(3, [lane])).toEqual(["two"]);
    });

    it("hands out nothing of a lane that is paused, blocked or waiting", async () => {
      const [waiting, blocked] = [await leader.lane("waiting"), await leader.lane("blocked")];
      for (const id of [lane, waiting, blocked]) await leader.put(id, "one");
      await leader.claim(1, [waiting, blocked]);
      await leader.settle(
        settlement(waiting, 1, 0, { head: { kind: "retry", waitMs: 60_000, ...failed } }),
        settlement(blocked, 1, 0, { head: { kind: "blocked", ...failed } }),
      );
      await leader.book.setPaused(queue, { stage: "in", lane: "x" }, true);
      expect(await leader.claim(2, [lane, waiting, blocked])).toEqual([]);
      const free = await leader.lane("free");
      await leader.put(free, "free");
      expect(await leader.take(3, [lane, waiting, blocked, free])).toEqual(["free"]);
    });

    it("never passes a gap, and goes on when it is filled", async () => {
      const { book, fence } = leader;
      const sparse = [1, 2, 4, 5].map((position) => messageAt(lane, position, `${position}`));
      await book.append(fence, leader.batch(sparse));
      expect(await leader.take(1, [lane])).toEqual(["1", "2"]);
      await leader.settle(settlement(lane, 1, 2));
      expect(await leader.claim(2, [lane])).toEqual([]);
      await book.append(fence, leader.batch([messageAt(lane, 3, "3")]));
      expect(await leader.take(3, [lane])).toEqual(["3", "4", "5"]);
    });

    it("hands out again what was taken in, whatever the first who had it did to it", async () => {
      await leader.put(lane, "one");
      const [message] = await leader.claim(1, [lane]);
      message?.body.fill(0);
      await leader.settle(settlement(lane, 1, 0));
      expect(await leader.take(2, [lane])).toEqual(["one"]);
    });
  });
});
