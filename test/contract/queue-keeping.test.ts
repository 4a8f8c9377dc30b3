import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { memoryHarness, Player, postgresHarness, type StoreHarness } from "./harness.js";
import { messageAt, QueueLeader, queue, settlement, stateOf } from "./queue-leader.js";

/** What is looked at, kept, redriven and dropped. */
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

  const dead = { kind: "dead", attempts: 5, error: "boom" } as const;

  /** Takes one message out of the lane and buries it. */
  async function bury(id: number): Promise<void> {
    const [head] = await leader.claim(99, [id], 1);
    await leader.settle(settlement(id, 99, (head?.position ?? 0) - 1, { head: dead }));
  }

  it("shows the first unfinished messages of a lane, without their bodies", async () => {
    const { book, fence } = leader;
    const headers = { type: "A01" };
    await leader.put(lane, "one", "two");
    await book.append(fence, leader.batch([{ ...messageAt(lane, 3, "three", "k3"), headers }]));
    await leader.claim(1, [lane], 2);
    await leader.settle(settlement(lane, 1, 1, { keeps: true }));
    expect(await book.peek(lane, 9)).toEqual([
      { lane, position: 2, key: null, headers: null, size: 3, at: expect.any(Number) },
      { lane, position: 3, key: "k3", headers, size: 5, at: expect.any(Number) },
    ]);
    expect(await book.peek(lane, 1)).toMatchObject([{ position: 2 }]);
    expect(await book.peek(lane + 1_000, 1)).toEqual([]);
  });

  it("shows every lane in the order of stages and names, and how deep it is", async () => {
    const names = await Promise.all([leader.lane("b", "out"), leader.lane("a", "out"), leader.lane("w")]);
    await leader.put(names[0], "one", "two", "three");
    await leader.claim(1, [names[0]], 2);
    await leader.settle(settlement(names[0], 1, 1));
    const lanes = await leader.book.lanes(queue);
    expect(lanes.map(({ stage, lane: name, tail, done }) => [stage, name, tail - done])).toEqual([
      ["in", "w", 0],
      ["in", "x", 0],
      ["out", "a", 0],
      ["out", "b", 2],
    ]);
  });

  describe("a dead letter", () => {
    it("is on a page of the newest first, and found by its id in its own queue", async () => {
      const { book } = leader;
      await leader.put(lane, "one", "two", "three");
      for (let letter = 0; letter < 3; letter += 1) await bury(lane);
      const [newest, middle] = await book.deadLetters(queue, { limit: 2 });
      expect([newest?.position, middle?.position]).toEqual([3, 2]);
      const rest = await book.deadLetters(queue, { limit: 2, before: middle?.id ?? "" });
      expect(rest).toMatchObject([{ position: 1 }]);
      expect(await book.deadLetters("parcels", { limit: 9 })).toEqual([]);
      expect((await book.deadLetter(queue, rest[0]?.id ?? ""))?.body.toString()).toBe("one");
      expect(await book.deadLetter("parcels", rest[0]?.id ?? "")).toBeNull();
      for (const id of ["", "0", "x", "-1", "9".repeat(40)]) expect(await book.deadLetter(queue, id)).toBeNull();
    });

    it("is redriven once, behind what is there", async () => {
      const { book, fence } = leader;
      await leader.put(lane, "one", "two");
      await bury(lane);
      const [letter] = await book.deadLetters(queue, { limit: 1 });
      const ids = [letter?.id ?? ""];
      await book.rest(fence, [lane]);
      const again = leader.batch([messageAt(lane, 3, "one")], [lane]);
      expect(await book.redrive(fence, ids, again)).toEqual(ids);
      expect(await book.deadLetter(queue, ids[0] ?? "")).toMatchObject({ redrivenAt: expect.any(Number) });
      expect((await book.recover(fence, { queue, maxReclaims: 5, own: false })).lanes).toHaveLength(1);
      expect(await book.redrive(fence, ids, again)).toEqual([]);
      expect(await book.redrive(fence, ids, leader.batch([messageAt(lane, 4, "one")]))).toEqual([]);
      expect(await leader.take(1, [lane])).toEqual(["two", "one"]);
    });

    it("is not redriven with one that cannot be, nor where its message finds no place, nor in another queue", async () => {
      const { book, fence } = leader;
      await leader.put(lane, "one", "two", "three");
      await bury(lane);
      await bury(lane);
      const [second, first] = (await book.deadLetters(queue, { limit: 2 })).map(({ id }) => id) as [string, string];
      await book.redrive(fence, [first], leader.batch([messageAt(lane, 4, "one")]));
      const before = await stateOf(book);
      const batch = leader.batch([messageAt(lane, 5, "one"), messageAt(lane, 6, "two")]);
      for (const other of [first, "12345", "none"]) {
        expect(await book.redrive(fence, [other, second], batch)).toEqual([second]);
      }
      const taken = leader.batch([messageAt(lane, 4, "two")]);
      await expect(book.redrive(fence, [second], taken)).rejects.toMatchObject({ code: "REFUSED" });
      const nowhere = { ...batch, segment: leader.segment + 100 };
      await expect(book.redrive(fence, [second], nowhere)).rejects.toMatchObject({ code: "DATABASE_REFUSED" });
      expect(await book.redrive(fence, [second], { ...batch, queue: "parcels", messages: [] })).toEqual([]);
      expect(await stateOf(book)).toEqual(before);
      expect(await book.redrive(fence, [second], leader.batch([messageAt(lane, 5, "two")]))).toEqual([second]);
    });
  });

  describe("a segment", () => {
    const turn = async (): Promise<void> => {
      leader.segment = await leader.book.openSegment(leader.fence, queue);
    };
    const drop = async (closedForMs = 0): Promise<readonly number[]> =>
      await leader.book.dropSegments(leader.fence, queue, closedForMs);

    it("follows another, and a claim goes on from one to the next in order", async () => {
      const first = leader.segment;
      await leader.put(lane, "one", "two");
      await turn();
      await leader.put(lane, "three");
      await turn();
      await leader.put(lane, "four");
      expect(leader.segment).toBeGreaterThan(first);
      const found = await leader.claim(1, [lane]);
      expect(found.map(({ body }) => body.toString())).toEqual(["one", "two", "three", "four"]);
      expect(new Set(found.map(({ segment }) => segment)).size).toBe(3);
      await leader.settle(settlement(lane, 1, 3, { doneSegment: found[2]?.segment ?? null }));
      expect(await leader.row(lane)).toMatchObject({ done: 3, tail: 4 });
      expect(await leader.take(2, [lane])).toEqual(["four"]);
      const { segment } = await leader.book.recover(leader.fence, { queue, maxReclaims: 5, own: false });
      expect(segment).toBe(leader.segment);
    });

    it("is dropped when it was closed long enough ago and all in it is finished, and its keys with it", async () => {
      const { book, fence } = leader;
      const first = leader.segment;
      await book.append(fence, leader.batch([messageAt(lane, 1, "one", "k1")]));
      await leader.claim(1, [lane]);
      await leader.settle(settlement(lane, 1, 1, { doneSegment: first }));
      expect(await drop()).toEqual([]);
      await turn();
      await book.append(fence, leader.batch([messageAt(lane, 2, "two", "k2")]));
      expect(await drop(60_000)).toEqual([]);
      await harness.advance(60_001);
      expect(await book.dropSegments(fence, "parcels", 60_000)).toEqual([]);
      expect(await drop(60_000)).toEqual([first]);
      expect(await drop(60_000)).toEqual([]);
      expect([...(await book.findKeys(queue, ["k1", "k2"])).keys()]).toEqual(["k2"]);
      expect(await leader.row(lane)).toMatchObject({ done: 1, tail: 2 });
      expect(await leader.take(2, [lane])).toEqual(["two"]);
      await expect(
        book.append(fence, { ...leader.batch([messageAt(lane, 3, "three")]), segment: first }),
      ).rejects.toMatchObject({ code: "DATABASE_REFUSED" });
    });

    it("stays for one message that is not finished: in flight, waiting, behind a gap, or of a lane at rest", async () => {
      const { book, fence } = leader;
      const [flying, waiting, sparse, resting] = (await Promise.all(
        ["flying", "waiting", "sparse", "resting"].map(async (name) => await leader.lane(name)),
      )) as [number, number, number, number];
      const kept: number[] = [];
      const fill = async (message: Parameters<typeof messageAt>): Promise<void> => {
        await book.append(fence, leader.batch([messageAt(...message)]));
        kept.push(leader.segment);
        await turn();
      };
      await fill([flying, 1, "flying"]);
      await leader.claim(1, [flying]);
      await fill([waiting, 1, "waiting"]);
      await leader.claim(2, [waiting]);
      const head = { kind: "retry", attempts: 1, waitMs: 60_000, error: "boom" } as const;
      await leader.settle(settlement(waiting, 2, 0, { head }));
      await fill([sparse, 2, "sparse"]);
      await fill([resting, 1, "resting"]);
      await book.rest(fence, [resting]);
      await turn();
      expect(await drop()).toEqual([leader.segment - 1]);
      await leader.settle(settlement(flying, 1, 1, { doneSegment: kept[0] ?? null }));
      expect(await drop()).toEqual([kept[0]]);
      expect(await leader.take(3, [resting])).toEqual(["resting"]);
    });

    it("that is dropped before an older one takes no position with it that could be given twice", async () => {
      const other = await leader.lane("y");
      await leader.put(other, "y1");
      await leader.put(lane, "one");
      const first = leader.segment;
      await leader.claim(1, [lane]);
      await leader.settle(settlement(lane, 1, 1, { doneSegment: first }));
      await turn();
      await leader.put(lane, "two");
      await bury(lane);
      const second = leader.segment;
      await turn();
      expect(await drop()).toEqual([second]);
      expect(await leader.row(lane)).toMatchObject({ done: 2, tail: 2 });
      await leader.put(lane, "three");
      expect(await leader.take(2, [lane])).toEqual(["three"]);
    });

    it("keeps its dead letters when it is dropped", async () => {
      await leader.put(lane, "one");
      await bury(lane);
      const dropped = leader.segment;
      await turn();
      expect(await drop()).toEqual([dropped]);
      const [letter] = await leader.book.deadLetters(queue, { limit: 1 });
      expect((await leader.book.deadLetter(queue, letter?.id ?? ""))?.body.toString()).toBe("one");
    });
  });
});
