import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { memoryHarness, Player, postgresHarness, type StoreHarness } from "./harness.js";
import { messageAt, QueueLeader, queue, settlement, stateOf } from "./queue-leader.js";

/** What becomes of claims. */
describe.each([
  ["memory", memoryHarness],
  ["postgres", postgresHarness],
] as const)("a settlement in the queue of the %s store", (_name, makeHarness) => {
  let harness: StoreHarness;
  let player: Player;
  let leader: QueueLeader;
  let lane: number;

  beforeEach(async () => {
    harness = await makeHarness();
    player = await Player.join(harness, "a");
    leader = await QueueLeader.elect(player);
    lane = await leader.lane("x");
    await leader.put(lane, "one", "two", "three", "four");
  });

  afterEach(async () => {
    player.crash();
    await harness[Symbol.asyncDispose]();
  });

  const failed = { attempts: 1, error: "boom" };
  const retry = { kind: "retry", waitMs: 10_000, ...failed } as const;
  const blocked = { kind: "blocked", ...failed } as const;
  const dead = { kind: "dead", attempts: 5, error: "boom" } as const;

  it("finishes messages, and the rest of its claim goes back at no cost", async () => {
    await leader.claim(1, [lane], 3);
    expect(await leader.settle(settlement(lane, 1, 2, { doneSegment: leader.segment }))).toEqual([]);
    expect(await leader.row(lane)).toMatchObject({ done: 2, tail: 4, attempts: 0, reclaims: 0, lastError: null });
    expect(await leader.take(2, [lane])).toEqual(["three", "four"]);
  });

  it("that keeps the claim tells of progress, and the rest stays in flight", async () => {
    await leader.claim(1, [lane], 3);
    expect(await leader.settle(settlement(lane, 1, 1, { keeps: true }))).toEqual([]);
    expect(await leader.row(lane)).toMatchObject({ done: 1 });
    expect(await leader.claim(2, [lane])).toEqual([]);
    expect(await leader.settle(settlement(lane, 1, 2, { keeps: true }))).toEqual([]);
    expect(await leader.settle(settlement(lane, 1, 3))).toEqual([]);
    expect(await leader.take(3, [lane])).toEqual(["four"]);
  });

  describe("of lanes that only got further, and are still worked on,", () => {
    const further = (of: number, claim: number, done: number) =>
      settlement(of, claim, done, { keeps: true, doneSegment: leader.segment });
    let other: number;

    beforeEach(async () => {
      other = await leader.lane("y");
      await leader.put(other, "y1", "y2", "y3");
      await leader.claim(1, [lane], 3);
      await leader.claim(2, [other], 2);
    });

    it("finishes what each of them says, and the rest stays in flight", async () => {
      expect(await leader.settle(further(other, 2, 1), further(lane, 1, 2))).toEqual([]);
      expect(await leader.row(lane)).toMatchObject({ done: 2 });
      expect(await leader.row(other)).toMatchObject({ done: 1 });
      expect(await leader.claim(3, [lane, other])).toEqual([]);
      expect(await leader.settle(further(lane, 1, 3))).toEqual([]);
      expect(await leader.settle(settlement(lane, 1, 3), settlement(other, 2, 1))).toEqual([]);
      expect(await leader.take(4, [lane, other])).toEqual(["four", "y2", "y3"]);
    });

    it("forgets what their heads had been through, unless they got nowhere", async () => {
      await leader.settle(settlement(lane, 1, 0, { head: { ...retry, waitMs: 0 } }));
      await leader.claim(3, [lane], 3);
      expect(await leader.settle(further(lane, 3, 0))).toEqual([]);
      expect(await leader.row(lane)).toMatchObject({ done: 0, attempts: 1, lastError: "boom" });
      expect(await leader.settle(further(lane, 3, 1))).toEqual([]);
      expect(await leader.row(lane)).toMatchObject({ done: 1, attempts: 0, lastError: null });
    });

    it("names those whose claim is another, or that do not go that far; and the others are settled", async () => {
      expect(await leader.settle(further(lane, 2, 1), further(other, 2, 1))).toEqual([lane]);
      expect(await leader.settle(further(lane, 1, 1), further(other, 2, 3))).toEqual([other]);
      expect(await leader.settle(further(lane, 1, 0))).toEqual([lane]);
      expect(await leader.row(lane)).toMatchObject({ done: 1 });
      expect(await leader.row(other)).toMatchObject({ done: 1 });
    });

    it("settles none of them where something comes with it and a claim is gone", async () => {
      const target = await leader.lane("z", "out");
      const produced = leader.batch([messageAt(target, 1, "made")]);
      const settlements = [further(lane, 1, 1), further(other, 7, 1)];
      expect(await leader.book.settle(leader.fence, settlements, produced)).toEqual([other]);
      expect(await leader.row(lane)).toMatchObject({ done: 0 });
      expect(await leader.row(target)).toMatchObject({ tail: 0 });
      expect(await leader.book.settle(leader.fence, [further(lane, 1, 1)], produced)).toEqual([]);
      expect(await leader.row(target)).toMatchObject({ tail: 1 });
    });
  });

  it("of a claim with another number changes nothing, whatever it tells, and is named", async () => {
    const other = await leader.lane("y");
    await leader.put(other, "y1");
    await leader.claim(1, [lane], 2);
    await leader.claim(2, [other]);
    const before = await stateOf(leader.book);
    for (const head of [{ kind: "ready" }, retry, blocked, dead] as const) {
      expect(await leader.settle(settlement(lane, 2, 0, { head }))).toEqual([lane]);
    }
    expect(await leader.settle(settlement(lane, 2, 2, { keeps: true }))).toEqual([lane]);
    expect(await stateOf(leader.book)).toEqual(before);
    expect(await leader.settle(settlement(lane, 7, 1), settlement(other, 2, 1))).toEqual([lane]);
    expect(await leader.row(other)).toMatchObject({ done: 1 });
    expect(await leader.settle(settlement(lane, 1, 2))).toEqual([]);
  });

  it("of a claim that has ended changes nothing, and is named", async () => {
    await leader.claim(1, [lane], 2);
    await leader.settle(settlement(lane, 1, 1));
    await leader.claim(2, [lane], 2);
    expect(await leader.settle(settlement(lane, 1, 2))).toEqual([lane]);
    expect(await leader.row(lane)).toMatchObject({ done: 1 });
  });

  it("of an older epoch's claim changes nothing, and is named, also by the same process", async () => {
    await leader.claim(1, [lane], 2);
    await player.release(leader.fence.epoch);
    const fence = player.fence(await player.lead());
    expect(await leader.book.settle(fence, [settlement(lane, 1, 2)], null)).toEqual([lane]);
    expect(await leader.row(lane)).toMatchObject({ done: 0 });
  });

  it("that goes back, or beyond its claim, changes nothing, and is named", async () => {
    await leader.claim(1, [lane], 3);
    await leader.settle(settlement(lane, 1, 2, { keeps: true }));
    expect(await leader.settle(settlement(lane, 1, 1, { keeps: true }))).toEqual([lane]);
    expect(await leader.settle(settlement(lane, 1, 4))).toEqual([lane]);
    expect(await leader.row(lane)).toMatchObject({ done: 2 });
    expect(await leader.settle(settlement(lane, 1, 3))).toEqual([]);
  });

  it("with a failure counts the attempt, and the head waits by the database's clock", async () => {
    await leader.claim(1, [lane], 2);
    await leader.settle(settlement(lane, 1, 1, { head: retry }));
    const waiting = await leader.row(lane);
    expect(waiting).toMatchObject({ done: 1, attempts: 1, lastError: "boom" });
    expect(waiting.waitMs).toBeGreaterThan(5_000);
    expect(waiting.waitMs).toBeLessThanOrEqual(10_000);
    await harness.advance(4_000);
    expect(await leader.claim(2, [lane])).toEqual([]);
    await harness.advance(6_001);
    expect(await leader.row(lane)).toMatchObject({ waitMs: 0 });
    expect(await leader.take(3, [lane], 1)).toEqual(["two"]);
    await leader.settle(settlement(lane, 3, 1, { head: { ...retry, attempts: 2, error: "again" } }));
    expect(await leader.row(lane)).toMatchObject({ attempts: 2, lastError: "again" });
    await harness.advance(10_001);
    await leader.claim(4, [lane], 1);
    await leader.settle(settlement(lane, 4, 2));
    expect(await leader.row(lane)).toMatchObject({ done: 2, attempts: 0, waitMs: 0, lastError: null });
  });

  it("that gives a claim back keeps what the head has been through", async () => {
    await leader.claim(1, [lane], 1);
    await leader.settle(settlement(lane, 1, 0, { head: { ...retry, waitMs: 0 } }));
    await leader.claim(2, [lane], 1);
    await leader.settle(settlement(lane, 2, 0));
    expect(await leader.row(lane)).toMatchObject({ attempts: 1, lastError: "boom" });
  });

  it("with a head that failed for good holds the lane until it is resumed", async () => {
    const name = { stage: "in", lane: "x" };
    await leader.claim(1, [lane], 2);
    await leader.settle(settlement(lane, 1, 1, { head: blocked }));
    expect(await leader.row(lane)).toMatchObject({ done: 1, attempts: 1, blocked: true, lastError: "boom" });
    await harness.advance(3_600_000);
    expect(await leader.claim(2, [lane])).toEqual([]);
    expect(await leader.book.setPaused(queue, name, true)).toMatchObject({ blocked: true, paused: true });
    expect(await leader.book.setPaused(queue, name, false)).toMatchObject({ blocked: false, paused: false });
    expect(await leader.take(3, [lane], 1)).toEqual(["two"]);
  });

  it("pausing holds a lane, and resuming also ends a head's wait", async () => {
    const name = { stage: "in", lane: "x" };
    await leader.claim(1, [lane], 1);
    await leader.settle(settlement(lane, 1, 0, { head: retry }));
    const paused = await leader.book.setPaused(queue, name, true);
    expect(paused?.waitMs).toBeGreaterThan(0);
    expect(await leader.book.setPaused(queue, name, false)).toMatchObject({ id: lane, waitMs: 0, attempts: 1 });
    expect(await leader.take(2, [lane], 1)).toEqual(["one"]);
    expect(await leader.book.setPaused(queue, { stage: "out", lane: "x" }, true)).toBeNull();
    expect(await leader.book.setPaused("parcels", name, true)).toBeNull();
  });

  it("buries a head whole, and the lane goes on behind it", async () => {
    const { book, fence } = leader;
    const headers = { type: "A01" };
    await book.append(fence, leader.batch([{ ...messageAt(lane, 5, "five", "k5"), headers }]));
    await leader.claim(1, [lane]);
    await leader.settle(settlement(lane, 1, 4, { head: dead }));
    const letter = {
      stage: "in",
      lane: "x",
      position: 5,
      key: "k5",
      headers,
      reason: "boom",
      attempts: 5,
      reclaims: 0,
      diedAt: expect.any(Number),
      redrivenAt: null,
      redrivenTo: null,
    };
    const [found] = await book.deadLetters(queue, { limit: 10 });
    expect(found).toEqual({ ...letter, id: expect.any(String) });
    const whole = await book.deadLetter(queue, found?.id ?? "");
    expect(whole).toEqual({ ...found, body: Buffer.from("five") });
    expect(await leader.row(lane)).toMatchObject({ done: 5, tail: 5, attempts: 0, lastError: null });
    await leader.put(lane, "six");
    expect(await leader.take(2, [lane])).toEqual(["six"]);
  });

  it("that buries a head and keeps the claim leaves the rest in flight", async () => {
    await leader.claim(1, [lane], 3);
    expect(await leader.settle(settlement(lane, 1, 1, { head: dead, keeps: true }))).toEqual([]);
    expect(await leader.row(lane)).toMatchObject({ done: 2 });
    expect(await leader.claim(2, [lane])).toEqual([]);
    expect(await leader.settle(settlement(lane, 1, 3))).toEqual([]);
    expect(await leader.take(3, [lane])).toEqual(["four"]);
  });

  it("takes any text for an error: what handlers throw is not the queue's to choose", async () => {
    const error = `zero \0 and half a pair \ud800 of ${"long ".repeat(2_000)}`;
    await leader.claim(1, [lane], 1);
    await leader.settle(settlement(lane, 1, 0, { head: { ...retry, waitMs: 0, error } }));
    expect((await leader.row(lane)).lastError).toContain("half a pair");
    await leader.claim(2, [lane], 1);
    await leader.settle(settlement(lane, 2, 0, { head: { ...dead, error } }));
    const [letter] = await leader.book.deadLetters(queue, { limit: 1 });
    expect(letter?.reason).toContain("half a pair");
  });

  describe("with messages for the next stage", () => {
    let next: number;

    beforeEach(async () => {
      next = await leader.lane("x", "out");
      await leader.claim(1, [lane], 2);
    });

    it("commits both, and wakes the lanes that they are for", async () => {
      const { book, fence } = leader;
      await book.rest(fence, [next]);
      const produced = leader.batch([messageAt(next, 1, "made of one", "m1")], [next]);
      expect(await book.settle(fence, [settlement(lane, 1, 1)], produced)).toEqual([]);
      expect(await leader.row(lane)).toMatchObject({ done: 1 });
      expect(await leader.take(2, [next])).toEqual(["made of one"]);
      expect((await book.findKeys(queue, ["m1"])).get("m1")).toEqual({ lane: next, position: 1 });
      const { lanes } = await book.recover(fence, { queue, maxReclaims: 5, own: false });
      expect(new Set(lanes.map(({ id }) => id))).toEqual(new Set([lane, next]));
    });

    it("commits neither where one of them cannot be", async () => {
      const { book, fence } = leader;
      await leader.put(next, "there already");
      const before = await stateOf(book);
      const nowhere = { ...leader.batch([messageAt(next, 2, "made", "m")]), segment: leader.segment + 100 };
      await expect(book.settle(fence, [settlement(lane, 1, 1)], nowhere)).rejects.toMatchObject({
        code: "DATABASE_REFUSED",
      });
      const taken = leader.batch([messageAt(next, 2, "made", "m"), messageAt(next, 1, "made too")]);
      await expect(book.settle(fence, [settlement(lane, 1, 1)], taken)).rejects.toMatchObject({ code: "REFUSED" });
      expect(await stateOf(book)).toEqual(before);
      expect((await book.findKeys(queue, ["m"])).size).toBe(0);
      expect(await leader.settle(settlement(lane, 1, 1))).toEqual([]);
    });

    it("commits nothing of any lane where a claim is gone, which is named: its successor will produce the same", async () => {
      const { book, fence } = leader;
      const other = await leader.lane("y");
      await leader.put(other, "y1");
      await leader.claim(2, [other]);
      const before = await stateOf(book);
      const produced = leader.batch([messageAt(next, 1, "made of one"), messageAt(next, 2, "made of y1")]);
      const settlements = [settlement(lane, 9, 1, { head: dead }), settlement(other, 2, 1)];
      expect(await book.settle(fence, settlements, produced)).toEqual([lane]);
      expect(await stateOf(book)).toEqual(before);
      expect(await leader.settle(settlement(lane, 1, 1), settlement(other, 2, 1))).toEqual([]);
    });
  });
});
