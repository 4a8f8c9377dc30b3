import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { MessageFilter } from "../../src/store/engine-contract.js";
import { loadedTypes, loadMessages } from "../support/engine-messages.js";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { EngineLeader, step } from "./engine-leader.js";
import { memoryHarness, Player, postgresHarness, role, type StoreHarness } from "./harness.js";

describe.each([
  ["memory", memoryHarness],
  ["postgres", postgresHarness],
] as const)("a search in the %s store", (_name, makeHarness) => {
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

  /** Indexes all of them, so that a search has nothing to look through as it is. */
  const index = async (runs: number): Promise<void> => {
    while ((await leader.book.indexWords(leader.fence, runs)) > 0);
  };

  it("goes from the newest to the oldest, a page at a time", async () => {
    const ids = await leader.receive({}, {}, {}, {}, {});
    const first = await leader.book.search({}, { limit: 2 });
    expect(first.items.map(({ id }) => id)).toEqual([ids[4], ids[3]]);
    expect(first.next).toBe(ids[3]);
    const second = await leader.book.search({}, { limit: 2, before: first.next ?? "" });
    expect(second.items.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
    const last = await leader.book.search({}, { limit: 2, before: second.next ?? "" });
    expect(last.items.map(({ id }) => id)).toEqual([ids[0]]);
    expect(last.next).toBeNull();
    expect(await leader.book.search({}, { limit: 2, before: "nonsense" })).toEqual({ items: [], next: null });
    expect(await leader.book.search({}, { limit: 2, before: ids[0] ?? "" })).toEqual({ items: [], next: null });
  });

  it("finds nothing where nothing was ever received", async () => {
    for (const filter of [{}, { text: "x" }, { status: "received" }, { from: 0, until: 1 }] as const) {
      expect(await leader.book.search(filter, { limit: 10 })).toEqual({ items: [], next: null });
    }
  });

  it("is narrowed by connection, by type, whole or its first part, and by control id", async () => {
    const [a = "", b = "", c = ""] = await leader.receive(
      { connection: "adt-in", type: "ADT^A01", controlId: "1" },
      { connection: "adt-in", type: "ADT^A08", controlId: "2" },
      { connection: "lab-in", type: "ADTX^A01", controlId: "2" },
    );
    expect(await leader.found({ connection: "adt-in" })).toEqual([b, a]);
    expect(await leader.found({ connection: "adt" })).toEqual([]);
    expect(await leader.found({ type: "ADT" })).toEqual([b, a]);
    expect(await leader.found({ type: "ADT^A01" })).toEqual([a]);
    expect(await leader.found({ type: "AD" })).toEqual([]);
    expect(await leader.found({ type: "ADTX" })).toEqual([c]);
    expect(await leader.found({ controlId: "2" })).toEqual([c, b]);
    expect(await leader.found({ controlId: "2", connection: "adt-in" })).toEqual([b]);
    expect(await leader.found({ type: "%", connection: "_" })).toEqual([]);
    expect(await leader.found({ type: "ADT^A01\0", connection: "adt-in\0" })).toEqual([]);
  });

  it("is narrowed by time, the end not included", async () => {
    const [a = ""] = await leader.receive({});
    const at = (await leader.book.message(a))?.receivedAt ?? 0;
    let [b, later] = ["", at];
    // Until the database's clock shows another millisecond.
    while (later <= at + 1) {
      [b = ""] = await leader.receive({});
      later = (await leader.book.message(b))?.receivedAt ?? 0;
    }
    expect(await leader.found({ from: later })).toEqual([b]);
    expect((await leader.found({ until: later })).at(-1)).toBe(a);
    expect(await leader.found({ until: later })).not.toContain(b);
    expect(await leader.found({ until: at })).toEqual([]);
    expect(await leader.found({ from: later + 3_600_000 })).toEqual([]);
    expect(await leader.found({ from: at, until: at })).toEqual([]);
  });

  it("is narrowed by status: where it waits, what it has been through, and whether it failed", async () => {
    const [a = "", b = "", c = "", d = ""] = await leader.receive({}, {}, {}, {});
    const died = { kind: "dead", attempts: 1, error: "boom" } as const;
    const routed = (id: string) => [{ stage: "routed", lane: "adt-in/x", id, body: "x" }];
    await leader.finish("ingress", "adt-in", { journal: step(a, "unrouted") });
    await leader.finish("ingress", "adt-in", { head: died });
    await leader.finish("ingress", "adt-in", { produced: routed(c) });
    expect(await leader.found({ status: "unrouted" })).toEqual([a]);
    expect(await leader.found({ status: "error" })).toEqual([b]);
    expect(await leader.found({ status: "routed" })).toEqual([c]);
    expect(await leader.found({ status: "received" })).toEqual([d]);
    expect(await leader.found({ status: "received", connection: "other" })).toEqual([]);
    expect(await leader.found({ status: "routed", connection: "adt-in", type: "ORU" })).toEqual([]);
    await leader.finish("routed", "adt-in/x", { journal: step(c, "filtered", { stage: "routed", lane: "adt-in/x" }) });
    expect(await leader.found({ status: "routed" })).toEqual([]);
    expect(await leader.found({ status: "filtered", connection: "adt-in" })).toEqual([c]);
    expect(await leader.found({ status: "processed" })).toEqual([]);
    const page = await leader.book.search({}, { limit: 10 });
    expect(page.items.map(({ statuses }) => statuses)).toEqual([["received"], ["filtered"], ["error"], ["unrouted"]]);
    const [letter] = await leader.queue.deadLetters("engine", { limit: 1 });
    const { id: lane, tail } = await leader.lane("ingress", "adt-in");
    const letters = [{ id: letter?.id ?? "", lane, position: tail + 1 }];
    await leader.queue.redrive(leader.fence, { queue: "engine", segment: leader.segment, letters, waking: [] });
    expect(await leader.found({ status: "error" })).toEqual([]);
    expect(await leader.found({ status: "received" })).toEqual([d, b]);
  });

  describe.each([
    ["as they are", 0],
    ["by the index", 1],
    ["by an index of which the newest are not a part", 4],
  ])("for words, %s,", (_how, runs) => {
    const bodies = [
      "MSH|^~\\&|A\rPID|1||4711^^^HOSP||Müller^Änne\r",
      Buffer.from("MSH|^~\\&|A\rPID|1||4712^^^HOSP||Müller^Jörg\r", "latin1"),
      "PID|1||4711^^^CLINIC||O'Neill^MÜLLER-Lüdenscheid\r",
      Buffer.from([0x4d, 0x53, 0x48, 0, 0x7c, 0x48, 0x4f, 0x53, 0x50]),
      "",
      `${"x ".repeat(40_000)} farbehind`,
    ];
    let ids: readonly string[] = [];

    beforeEach(async () => {
      ids = await leader.receive(
        ...bodies.map((body, at) => ({ body, connection: at < 2 ? "a" : "b", controlId: "7" })),
      );
      if (runs > 0) await index(runs);
    });

    const found = async (filter: MessageFilter) => (await leader.found(filter)).map((id) => ids.indexOf(id));

    it("finds whole ones, in whatever case and charset, all of them", async () => {
      expect(await found({ text: "müller" })).toEqual([2, 1, 0]);
      expect(await found({ text: "MÜLLER 4711" })).toEqual([2, 0]);
      expect(await found({ text: "4711^^^hosp" })).toEqual([0]);
      expect(await found({ text: "neill" })).toEqual([2]);
      expect(await found({ text: "mül" })).toEqual([]);
      expect(await found({ text: "471" })).toEqual([]);
      expect(await found({ text: "müller absent" })).toEqual([]);
      expect(await found({ text: "absent" })).toEqual([]);
    });

    it("and for something else at once", async () => {
      expect(await found({ text: "müller", connection: "b" })).toEqual([2]);
      expect(await found({ text: "müller", connection: "c" })).toEqual([]);
      expect(await found({ text: "müller", type: "ADT" })).toEqual([2, 1, 0]);
      expect(await found({ text: "müller", type: "ADT^A01", controlId: "7" })).toEqual([2, 1, 0]);
      expect(await found({ text: "müller", type: "ORU" })).toEqual([]);
      expect(await found({ text: "müller", status: "received" })).toEqual([2, 1, 0]);
      expect(await found({ text: "müller", status: "sent" })).toEqual([]);
      await leader.finish("ingress", "a", { journal: step(ids[0] ?? "", "unrouted") });
      expect(await found({ text: "müller", status: "unrouted" })).toEqual([0]);
      expect(await found({ text: "müller", status: "received" })).toEqual([2, 1]);
      expect(await found({ text: "müller", until: 1 })).toEqual([]);
    });

    it("finds nothing in what is no text, nor in what is no word, nor far behind the beginning", async () => {
      expect(await found({ text: "hosp" })).toEqual([0, 1].reverse());
      expect(await found({ text: "farbehind" })).toEqual([]);
      expect(await found({ text: "x" })).toEqual([5]);
      for (const text of ["^~\\&", "|", "\0", "\u{1F600}"]) expect(await found({ text })).toEqual([]);
      expect(await found({ text: "" })).toHaveLength(6);
    });
  });

  it("goes on from page to page through words, too", async () => {
    const ids = await leader.receive(...Array.from({ length: 9 }, (_, n) => ({ body: `needle n${n}` })));
    await index(2);
    const found = await leader.found({ text: "needle" }, 2);
    expect(found).toEqual([...ids].reverse());
    expect(await leader.found({ text: "n3" })).toEqual([ids[3]]);
  });

  it("indexes what there is enough of, and the rest of a partition once it is closed", async () => {
    await leader.receive({ body: "one" }, { body: "two" }, { body: "three" });
    expect(await leader.book.indexWords(leader.fence, 2)).toBe(2);
    expect(await leader.book.indexWords(leader.fence, 2)).toBe(0);
    leader.nextId = (await leader.book.openPartition(leader.fence)).next;
    const [fresh] = await leader.receive({ body: "four" });
    expect(await leader.book.indexWords(leader.fence, 2)).toBe(1);
    expect(await leader.book.indexWords(leader.fence, 2)).toBe(0);
    expect(await leader.found({ text: "four" })).toEqual([fresh]);
    expect(await leader.found({ text: "three" })).toHaveLength(1);
  });
});

describe("a search through 20,000 messages", () => {
  const count = 20_000;
  const received = 30;

  it("finds exactly those that there are, by every filter and by several together", { timeout: 120_000 }, async () => {
    await using database = await createTestDatabase();
    await withClient(
      database.url,
      async (client) => await loadMessages(client, { count, connections: 20, received, role }),
    );
    await using harness = await postgresHarness({ database, url: database.url });
    await using player = await Player.join(harness, "a");
    const leader = await EngineLeader.elect(player);
    for (let runs = 0; runs < 9; runs += 1) {
      expect(await leader.book.indexWords(leader.fence, 2_048)).toBe(2_048);
    }
    const all = Array.from({ length: count }, (_, n) => n + 1);
    const typeOf = (id: number) => loadedTypes[(id * 31) % loadedTypes.length] ?? "";
    const isDone = (id: number) => id <= count - received;
    const isOf: Readonly<Record<string, (id: number) => boolean>> = {
      processed: (id) => isDone(id) && id % 100 < 75,
      filtered: (id) => isDone(id) && id % 100 >= 75 && id % 100 <= 94,
      unrouted: (id) => isDone(id) && id % 100 >= 95 && id % 100 <= 98,
      error: (id) => isDone(id) && id % 100 === 99,
      received: (id) => !isDone(id),
      replayed: () => false,
    };
    const time = (id: number) => Date.parse("2026-01-01T00:00:00Z") + id * 1_000;
    const cases: readonly (readonly [MessageFilter, (id: number) => boolean])[] = [
      [{ connection: "feed-3" }, (id) => id % 20 === 3],
      [{ type: "ADT" }, (id) => typeOf(id).startsWith("ADT")],
      [{ type: "ORU^R01" }, (id) => typeOf(id) === "ORU^R01"],
      [{ controlId: "C777" }, (id) => id === 777],
      [{ from: time(5_000), until: time(5_100) }, (id) => id >= 5_000 && id < 5_100],
      ...Object.entries(isOf).map(([status, is]) => [{ status } as MessageFilter, is] as const),
      [{ text: "family7" }, (id) => id % 1_000 === 7],
      [{ text: "FAMILY7 given1" }, (id) => id % 1_000 === 7 && id % 777 === 1],
      [{ connection: "feed-7", status: "filtered" }, (id) => id % 20 === 7 && (isOf.filtered?.(id) ?? false)],
      [{ type: "ADT^A08", text: "family7" }, (id) => typeOf(id) === "ADT^A08" && id % 1_000 === 7],
      [{ text: "bed1", status: "unrouted" }, (id) => id % 20 === 1 && (isOf.unrouted?.(id) ?? false)],
      [{ text: "hosp", status: "error", connection: "feed-19" }, (id) => isOf.error?.(id) ?? false],
      [
        { text: "family8", from: time(10_000), type: "ADT" },
        (id) => id % 1_000 === 8 && id >= 10_000 && typeOf(id).startsWith("ADT"),
      ],
    ];
    for (const [filter, is] of cases) {
      const found = (await leader.found(filter, 5_000)).map(Number);
      expect(found, JSON.stringify(filter)).toEqual(all.filter(is).reverse());
    }
  });
});
