import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { StaleEpochError } from "../../src/errors.js";
import { EngineLeader, keeps, step } from "./engine-leader.js";
import { memoryHarness, Player, postgresHarness, type StoreHarness } from "./harness.js";

/** The journal: what the queue's commits write of the engine's messages, and how it is read. */
describe.each([
  ["memory", memoryHarness],
  ["postgres", postgresHarness],
] as const)("the engine's journal in the %s store", (_name, makeHarness) => {
  let harness: StoreHarness;
  let player: Player;
  let leader: EngineLeader;

  beforeEach(async () => {
    harness = await makeHarness();
    player = await Player.join(harness, "a");
    leader = await EngineLeader.elect(player);
  });

  afterEach(async () => {
    player.crash();
    await harness[Symbol.asyncDispose]();
  });

  const dead = { kind: "dead", attempts: 3, error: "no such ward" } as const;

  it("has a line for each message that was taken in, with what was answered and how it can be found", async () => {
    const line = {
      connection: "adt-in",
      type: "ADT^A08",
      controlId: "MSG-7",
      body: "MSH|one",
      ack: "MSA|AA",
      key: "k",
    };
    const [id = ""] = await leader.receive(line);
    expect(await leader.book.message(id)).toEqual({
      id,
      receivedAt: expect.any(Number),
      connection: "adt-in",
      type: "ADT^A08",
      controlId: "MSG-7",
      size: 7,
      replayOf: null,
      statuses: ["received"],
      ack: Buffer.from("MSA|AA"),
      steps: [],
      deadLetters: [],
      pending: [{ stage: "ingress", lane: "adt-in", position: 1 }],
    });
    expect(await leader.book.bodyOf(id)).toEqual(Buffer.from("MSH|one"));
    const place = (await leader.queue.findKeys("engine", ["k"])).get("k") ?? { lane: 0, position: 0 };
    expect(await leader.book.ackOf(place)).toEqual({ id, ack: Buffer.from("MSA|AA") });
    expect(await leader.book.ackOf({ ...place, position: 9 })).toBeNull();
  });

  it("adds nothing when an append whose outcome was not known is asked for again", async () => {
    const batch = await leader.batchOf([{ body: "one" }, { body: "two" }]);
    expect(await leader.queue.append(leader.fence, batch)).toBe(2);
    expect(await leader.queue.append(leader.fence, batch)).toBe(0);
    expect(await leader.found({})).toHaveLength(2);
  });

  it("has no line of messages that were not taken in: their places were taken, or the epoch was over", async () => {
    await leader.receive({ body: "one" });
    const [taken] = (await leader.batchOf([{ body: "two" }])).messages;
    const batch = await leader.batchOf([{ body: "three" }]);
    const inTheWay = { ...batch, messages: batch.messages.map((message) => ({ ...message, position: 1 })) };
    expect(taken?.position).toBe(2);
    expect(await leader.queue.append(leader.fence, inTheWay)).toBe(0);
    const { fence } = leader;
    await player.release(fence.epoch);
    const next = await EngineLeader.elect(player);
    await expect(leader.queue.append(fence, batch)).rejects.toThrow(StaleEpochError);
    expect(await next.found({})).toHaveLength(1);
  });

  it("numbers go on behind all that there is, whoever leads", async () => {
    const ids = await leader.receive({}, {}, {});
    await player.release(leader.fence.epoch);
    const next = await EngineLeader.elect(player);
    expect(next.nextId).toBe(Number(ids.at(-1)) + 1);
    const fresh = await next.book.openPartition(next.fence);
    expect(fresh.next).toBeGreaterThan(next.nextId);
    expect(await next.book.nextMessageId(next.fence)).toEqual(fresh);
    expect(fresh.end - fresh.next).toBeGreaterThanOrEqual(999_999);
  });

  it("shows what became of a message: each step, its dead letters, and where something of it still waits", async () => {
    const [id = ""] = await leader.receive({ body: "raw" });
    const produced = [
      { stage: "routed", lane: "adt-in/to-lab", id, body: "raw" },
      { stage: "routed", lane: "adt-in/to-ward", id, body: "raw" },
    ];
    await leader.finish("ingress", "adt-in", { produced });
    expect(await leader.statuses(id)).toEqual(["routed"]);
    const sends = [{ stage: "outbound", lane: "lab", id, body: "made for the lab" }];
    const processed = step(id, "processed", { stage: "routed", lane: "adt-in/to-lab", detail: { sends: ["lab"] } });
    await leader.finish("routed", "adt-in/to-lab", { produced: sends, journal: processed });
    await leader.finish("routed", "adt-in/to-ward", { head: dead });
    const pending = [{ stage: "outbound", lane: "lab", position: 1 }];
    expect(await leader.book.message(id)).toMatchObject({ statuses: ["processed", "error"], pending });
    const sent = step(id, "sent", { stage: "outbound", lane: "lab", detail: { reply: "AA\0" } });
    await leader.finish("outbound", "lab", { journal: sent });
    expect(await leader.book.message(id)).toMatchObject({
      statuses: ["processed", "sent", "error"],
      steps: [
        { step: 1, kind: "processed", stage: "routed", lane: "adt-in/to-lab", position: 1, detail: { sends: ["lab"] } },
        { step: 2, kind: "sent", stage: "outbound", lane: "lab", position: 1, detail: { reply: "AA\0" } },
      ],
      deadLetters: [{ stage: "routed", lane: "adt-in/to-ward", reason: "no such ward", attempts: 3 }],
      pending: [],
    });
    expect(await leader.book.sentBodyOf(id, 2)).toEqual(Buffer.from("made for the lab"));
    expect(await leader.book.sentBodyOf(id, 1)).toBeNull();
    expect(await leader.book.sentBodyOf(id, 9)).toBeNull();
  });

  it("writes nothing of a settlement whose claim is another's by now", async () => {
    const [id = ""] = await leader.receive({});
    const { id: lane } = await leader.lane("ingress", "adt-in");
    const late = { lane, claim: 99, done: 1, doneSegment: null, keeps: false, head: { kind: "ready" } } as const;
    const journal = { ...step(id, "unrouted"), state: keeps("n", "k", 1).state };
    expect(await leader.queue.settle(leader.fence, [late], null, journal)).toEqual([lane]);
    expect(await leader.book.message(id)).toMatchObject({ steps: [], statuses: ["received"] });
    expect(await leader.book.stateVersions()).toEqual(new Map());
  });

  it("reads the raw body from the dead letter once the queue keeps it no more", async () => {
    const [kept = "", gone = ""] = await leader.receive({ body: "kept" }, { body: "gone" });
    await leader.finish("ingress", "adt-in", { head: dead });
    await leader.finish("ingress", "adt-in");
    await leader.queue.openSegment(leader.fence, "engine");
    expect(await leader.queue.dropSegments(leader.fence, "engine", 0)).toHaveLength(1);
    expect(await leader.book.bodyOf(kept)).toEqual(Buffer.from("kept"));
    expect(await leader.book.bodyOf(gone)).toBeNull();
    expect(await leader.book.message(gone)).toMatchObject({ id: gone });
  });

  it("keeps texts that no database can keep, where it shows, and cuts what is endless", async () => {
    const [id = ""] = await leader.receive({
      connection: `a\0${"b".repeat(1_000)}`,
      type: `ADT\0\ud800^A01`,
      controlId: "x".repeat(1_048_576),
    });
    const found = await leader.book.message(id);
    expect(found).toMatchObject({ type: "ADT\uFFFD\uFFFD^A01", controlId: `${"x".repeat(199)}…` });
    expect(found?.connection).toMatch(/^a\uFFFDb+…$/);
    expect(await leader.found({ controlId: "x".repeat(1_048_576) })).toEqual([id]);
    expect(await leader.found({ type: "ADT\0\ud800^A01" })).toEqual([id]);
  });

  it("has the rows of messages by their ids, newest first, each once", async () => {
    const [one = "", two = "", three = ""] = await leader.receive({ controlId: "a" }, { controlId: "b" }, {});
    const rows = await leader.book.rows([one, "99", three, "x", one]);
    expect(rows.map(({ id }) => id)).toEqual([three, one]);
    expect(await leader.book.rows([two])).toMatchObject([{ id: two, controlId: "b", statuses: ["received"] }]);
    expect(await leader.book.rows([])).toEqual([]);
  });

  it("knows nothing of messages that are none", async () => {
    for (const id of ["0", "99", "-1", "x", "", "1e3", "9".repeat(400)]) {
      expect(await leader.book.message(id)).toBeNull();
      expect(await leader.book.bodyOf(id)).toBeNull();
      expect(await leader.book.sentBodyOf(id, 1)).toBeNull();
    }
  });

  it("forgets whole partitions whose messages are old, and never the newest", async () => {
    const [old = ""] = await leader.receive({ body: "MSH|needle" });
    expect(await leader.book.dropPartitions(leader.fence, 0)).toBe(0);
    const ageMs = await leader.book.partitionAgeMs();
    leader.nextId = (await leader.book.openPartition(leader.fence)).next;
    const [fresh = ""] = await leader.receive({ body: "MSH|needle" });
    expect(ageMs).toBeGreaterThanOrEqual(0);
    expect(await leader.book.partitionAgeMs()).toBeLessThan(60_000);
    expect(await leader.book.dropPartitions(leader.fence, 60_000)).toBe(0);
    expect(await leader.found({ text: "needle" })).toEqual([fresh, old]);
    expect(await leader.book.dropPartitions(leader.fence, 0)).toBe(1);
    expect(await leader.found({})).toEqual([fresh]);
    expect(await leader.found({ text: "needle" })).toEqual([fresh]);
    // It waited all the while: what becomes of it is written nowhere, and holds up nothing.
    await leader.finish("ingress", "adt-in", { journal: step(old, "unrouted") });
    expect((await leader.lane("ingress", "adt-in")).done).toBe(1);
    expect(await leader.book.message(old)).toBeNull();
  });

  it("refuses what an epoch that is over still writes, and nothing of it is left", async () => {
    const { fence, book } = leader;
    const [id = ""] = await leader.receive({ body: "one" });
    await player.release(fence.epoch);
    await player.lead();
    const lane = { stage: "ingress", lane: "adt-in", reason: "gone" };
    const writes = [
      book.nextMessageId(fence),
      book.openPartition(fence),
      book.dropPartitions(fence, 0),
      book.indexWords(fence, 1),
      book.departed(fence, [lane], 10),
      book.publishReference(fence, { name: "wards", hash: "1", rows: [] }),
      leader.finish("ingress", "adt-in", { journal: step(id, "unrouted") }),
    ];
    for (const outcome of await Promise.allSettled(writes)) {
      expect(outcome).toMatchObject({ status: "rejected", reason: expect.any(StaleEpochError) });
    }
    expect(await book.message(id)).toMatchObject({ statuses: ["received"] });
    expect(await book.referenceVersions()).toEqual([]);
  });

  describe("lanes that left the configuration", () => {
    const gone = (lane: string) => ({ stage: "ingress", lane, reason: "connection left the configuration" });

    it("go to the dead letters, a slice at a time, and the leader is told", async () => {
      const ids = await leader.receive({ body: "1" }, { body: "2" }, { body: "3" }, { connection: "other" });
      await leader.queue.takeSteered(leader.fence, await leader.queue.steered("engine"));
      expect(await leader.book.departed(leader.fence, [gone("adt-in"), gone("nobody")], 2)).toBe(2);
      expect(await leader.lane("ingress", "adt-in")).toMatchObject({ done: 2, tail: 3 });
      expect(await leader.book.departed(leader.fence, [gone("adt-in")], 10)).toBe(1);
      expect(await leader.book.departed(leader.fence, [gone("adt-in")], 10)).toBe(0);
      expect(await leader.queue.steered("engine")).toHaveLength(1);
      const letters = await leader.queue.deadLetters("engine", { limit: 10 });
      expect(letters.map(({ position, reason }) => [position, reason])).toEqual(
        [3, 2, 1].map((position) => [position, "connection left the configuration"]),
      );
      expect(await leader.found({ status: "error" })).toEqual(ids.slice(0, 3).reverse());
      expect(await leader.found({ status: "received" })).toEqual(ids.slice(3));
    });

    it("are left alone while something of them is in flight, unless that is a former leader's", async () => {
      await leader.receive({ body: "1" });
      const { id: lane } = await leader.lane("ingress", "adt-in");
      const order = { queue: "engine", claim: 1, leaseMs: 60_000, wishes: [{ lane, limit: 1 }] };
      expect(await leader.queue.claim(leader.fence, order)).toHaveLength(1);
      expect(await leader.book.departed(leader.fence, [gone("adt-in")], 10)).toBe(0);
      await player.release(leader.fence.epoch);
      const fence = player.fence(await player.lead());
      expect(await leader.book.departed(fence, [gone("adt-in")], 10)).toBe(1);
      expect(await leader.queue.recover(fence, { queue: "engine", maxReclaims: 5, own: false })).toMatchObject({
        reclaimed: 0,
      });
    });
  });

  it("counts what waits and what is in error, by connection", async () => {
    await leader.receive({}, {}, { connection: "lab-in" });
    const produced = [{ stage: "routed", lane: "adt-in/to-lab", id: "1", body: "x" }];
    await leader.finish("ingress", "adt-in", { produced });
    await leader.finish("ingress", "lab-in", { head: dead });
    expect(await leader.book.standing()).toEqual([
      { connection: "adt-in", received: 1, routed: 1, error: 0 },
      { connection: "lab-in", received: 0, routed: 0, error: 1 },
    ]);
  });

  it("counts what could not be delivered at the outbound, over all its lanes, and at the inbound that it came in by", async () => {
    await leader.receive({});
    const lanes = ["lab", "lab/3"];
    const produced = lanes.map((lane, index) => ({ stage: "outbound", lane, id: String(index), body: "x" }));
    await leader.finish("ingress", "adt-in", { produced });
    for (const lane of lanes) await leader.finish("outbound", lane, { head: dead });
    expect(await leader.book.standing()).toMatchObject([
      { connection: "adt-in", error: 2 },
      { connection: "lab", received: 0, routed: 0, error: 2 },
    ]);
  });
});
