import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type LetterWish, type RedriveOrder, redrivenFrom } from "../../src/store/queue-contract.js";
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

    /** Where letters shall go, each to the lane and position after it. */
    const to = (...letters: readonly (readonly [string, number, number])[]): RedriveOrder => ({
      queue,
      segment: leader.segment,
      letters: letters.map(([id, at, position]) => ({ id, lane: at, position })),
      waking: [],
    });
    const idsOf = async (): Promise<readonly string[]> =>
      (await leader.book.letters(queue, { limit: 100 })).map(({ id }) => id);

    it("is listed in the order in which it died, by its id, or while it was not redriven, by stage and lane", async () => {
      const { book, fence } = leader;
      const other = await leader.lane("y");
      await leader.put(lane, "one", "two");
      await leader.put(other, "three");
      for (const id of [lane, other, lane]) await bury(id);
      const [first = "", second = "", third = ""] = await idsOf();
      const found = async (wish: Partial<LetterWish>): Promise<readonly string[]> =>
        (await book.letters(queue, { limit: 100, ...wish })).map(({ id }) => id);
      expect(await found({ limit: 2 })).toEqual([first, second]);
      expect(await found({ lane: "x" })).toEqual([first, third]);
      expect(await found({ stage: "in", lane: "y" })).toEqual([second]);
      expect(await found({ stage: "out" })).toEqual([]);
      expect(await book.redrive(fence, to([second, other, 2]))).toEqual([second]);
      expect(await found({})).toEqual([first, third]);
      expect(await found({ ids: [third, second, "x", "999999"] })).toEqual([second, third]);
      expect(await book.letters("parcels", { ids: [first], limit: 9 })).toEqual([]);
      expect(await found({ ids: [] })).toEqual([]);
    });

    it("is redriven once, behind what is there, and says whence it came", async () => {
      const { book, fence } = leader;
      await leader.put(lane, "one", "two");
      await bury(lane);
      const [id = ""] = await idsOf();
      await book.rest(fence, [lane]);
      const again = { ...to([id, lane, 3]), waking: [lane] };
      expect(await book.redrive(fence, again)).toEqual([id]);
      expect(await book.deadLetter(queue, id)).toMatchObject({ redrivenAt: expect.any(Number), redrivenTo: 3 });
      expect((await book.recover(fence, { queue, maxReclaims: 5, own: false })).lanes).toHaveLength(1);
      expect(await book.redrive(fence, to([id, lane, 4]))).toEqual([]);
      const found = await leader.claim(1, [lane]);
      expect(found.map(({ body }) => body.toString())).toEqual(["two", "one"]);
      expect(found[1]?.headers).toEqual({ [redrivenFrom]: id });
    });

    it("adds nothing when it is asked for again with the same places: an outcome that was not known", async () => {
      const { book, fence } = leader;
      await leader.put(lane, "one", "two");
      await bury(lane);
      await bury(lane);
      const [first = "", second = ""] = await idsOf();
      const order = to([first, lane, 3], [second, lane, 4]);
      expect(await book.redrive(fence, order)).toEqual([first, second]);
      const before = await stateOf(book);
      expect(await book.redrive(fence, order)).toEqual([first, second]);
      expect(await stateOf(book)).toEqual(before);
    });

    it("keeps headers and key, and its key then stands for the new message, as long as that is kept", async () => {
      const { book, fence } = leader;
      const headers = { type: "A01" };
      await book.append(fence, leader.batch([{ ...messageAt(lane, 1, "one", "k1"), headers }]));
      await bury(lane);
      const first = leader.segment;
      leader.segment = await book.openSegment(fence, queue);
      const [id = ""] = await idsOf();
      await book.redrive(fence, to([id, lane, 2]));
      expect(await book.findKeys(queue, ["k1"])).toEqual(new Map([["k1", { lane, position: 2 }]]));
      expect(await book.dropSegments(fence, queue, 0)).toEqual([first]);
      expect(await book.findKeys(queue, ["k1"])).toEqual(new Map([["k1", { lane, position: 2 }]]));
      const [message] = await leader.claim(1, [lane]);
      expect(message).toMatchObject({ key: "k1", headers: { ...headers, [redrivenFrom]: id } });
    });

    it("leaves its key to another message that has it by now", async () => {
      const { book, fence } = leader;
      await book.append(fence, leader.batch([messageAt(lane, 1, "one", "k1")]));
      await bury(lane);
      leader.segment = await book.openSegment(fence, queue);
      await book.dropSegments(fence, queue, 0);
      await book.append(fence, leader.batch([messageAt(lane, 2, "another", "k1")]));
      const [id = ""] = await idsOf();
      expect(await book.redrive(fence, to([id, lane, 3]))).toEqual([id]);
      expect(await book.findKeys(queue, ["k1"])).toEqual(new Map([["k1", { lane, position: 2 }]]));
    });

    it("is not redriven with one that cannot be, nor where others are, nor in another lane or queue", async () => {
      const { book, fence } = leader;
      const other = await leader.lane("y");
      await leader.put(lane, "one", "two", "three");
      await bury(lane);
      await bury(lane);
      const [first = "", second = ""] = await idsOf();
      await book.redrive(fence, to([first, lane, 4]));
      const before = await stateOf(book);
      for (const unfit of [first, "12345", "none"]) {
        expect(await book.redrive(fence, to([unfit, lane, 5], [second, lane, 6]))).toEqual([second]);
      }
      expect(await book.redrive(fence, to([second, other, 1]))).toEqual([]);
      expect(await book.redrive(fence, { ...to([second, lane, 5]), queue: "parcels" })).toEqual([]);
      await expect(book.redrive(fence, to([second, lane, 4]))).rejects.toMatchObject({ code: "REFUSED" });
      const nowhere = { ...to([second, lane, 5]), segment: leader.segment + 100 };
      await expect(book.redrive(fence, nowhere)).rejects.toMatchObject({ code: "DATABASE_REFUSED" });
      expect(await stateOf(book)).toEqual(before);
      expect(await book.redrive(fence, to([second, lane, 5]))).toEqual([second]);
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
