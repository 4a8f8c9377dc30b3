import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { StoreNews } from "../../src/store/contract.js";
import { EngineLeader, keeps, step } from "./engine-leader.js";
import { memoryHarness, Player, postgresHarness, type StoreHarness } from "./harness.js";

/** What handlers keep and look up, and which configuration runs where. */
describe.each([
  ["memory", memoryHarness],
  ["postgres", postgresHarness],
] as const)("the engine in the %s store", (_name, makeHarness) => {
  let harness: StoreHarness;
  let player: Player;
  let other: Player;
  let leader: EngineLeader;

  beforeEach(async () => {
    harness = await makeHarness();
    player = await Player.join(harness, "a");
    other = await Player.join(harness, "b");
    leader = await EngineLeader.elect(player);
    await leader.receive({}, {}, {}, {});
  });

  afterEach(async () => {
    player.crash();
    other.crash();
    await harness[Symbol.asyncDispose]();
  });

  const finish = async (...journals: readonly ReturnType<typeof keeps>[]) =>
    await leader.finish("ingress", "adt-in", {
      journal: {
        steps: journals.flatMap(({ steps }) => steps),
        state: journals.flatMap(({ state }) => state),
      },
    });

  describe("state", () => {
    it("is kept by the commit that finishes its message, and read by any node from the version that it has", async () => {
      const standby = other.store.engine;
      expect(await standby.stateVersions()).toEqual(new Map());
      expect(await standby.readState("beds", 0)).toEqual({ version: 0, entries: [] });
      await finish(keeps("beds", "w1", { free: 3 }), keeps("beds", "w2", null), keeps("doctors", "d", "x"));
      expect(await standby.stateVersions()).toEqual(
        new Map([
          ["beds", 1],
          ["doctors", 1],
        ]),
      );
      await finish(keeps("beds", "w1", { free: 2 }));
      expect(await standby.readState("beds", 0)).toEqual({
        version: 2,
        entries: [
          { key: "w1", value: { free: 2 } },
          { key: "w2", value: null },
        ],
      });
      expect(await standby.readState("beds", 1)).toEqual({ version: 2, entries: [{ key: "w1", value: { free: 2 } }] });
      expect(await standby.readState("beds", 2)).toEqual({ version: 2, entries: [] });
      expect(await standby.readState("doctors", 0)).toMatchObject({ version: 1 });
    });

    it("tells of what was forgotten, and takes the last of several writes to a key", async () => {
      await finish(keeps("beds", "w1", 1), keeps("beds", "w1", 2), keeps("beds", "w3", 3));
      await finish(keeps("beds", "w1", 9), keeps("beds", "w1", undefined));
      const { entries } = await other.store.engine.readState("beds", 1);
      expect(entries).toEqual([{ key: "w1", value: undefined }]);
      await finish(keeps("beds", "w1", 4));
      expect(await other.store.engine.readState("beds", 2)).toEqual({ version: 3, entries: [{ key: "w1", value: 4 }] });
    });

    it("keeps any JSON as it is", async () => {
      const value = {
        "zero\0": ["\0", "\ud800", "☃", 1e300, -0.5, true, null, { "": [] }],
        $hf$: "$hf$ 'quoted' \\u0000",
      };
      await finish(keeps("n'; drop", "k$hf$", value));
      const { entries } = await other.store.engine.readState("n'; drop", 0);
      expect(entries).toEqual([{ key: "k$hf$", value }]);
    });

    it("raises no version for what tells only of messages", async () => {
      const [id = ""] = await leader.found({}, 1);
      await finish(step(id, "unrouted"));
      expect(await leader.book.stateVersions()).toEqual(new Map());
    });
  });

  describe("a reference set", () => {
    const rows = [
      { key: "W1", value: { name: "Ward \0 1" } },
      { key: "W2", value: ["b"] },
    ];

    it("is switched as a whole: the old version is gone with the commit that brings the new one", async () => {
      const { book, fence } = leader;
      const first = await book.publishReference(fence, { name: "wards", hash: "h1", rows });
      expect(first).toMatchObject({ name: "wards", version: 1, hash: "h1", rows: 2 });
      const standby = other.store.engine;
      expect(await standby.referenceVersions()).toEqual([first]);
      expect(await standby.readReference("wards", 1)).toEqual(rows);
      const second = await book.publishReference(fence, { name: "wards", hash: "h2", rows: rows.slice(1) });
      expect(second).toMatchObject({ version: 2, rows: 1 });
      expect(await standby.readReference("wards", 1)).toBeNull();
      expect(await standby.readReference("wards", 2)).toEqual(rows.slice(1));
      expect(await standby.readReference("nobody", 1)).toBeNull();
    });

    it("stays as it is where nothing of it has changed", async () => {
      const { book, fence } = leader;
      const first = await book.publishReference(fence, { name: "wards", hash: "h1", rows });
      expect(await book.publishReference(fence, { name: "wards", hash: "h1", rows })).toEqual(first);
    });

    it("that fails is known everywhere, with its reason and since when, until it does not any more", async () => {
      const { book, fence } = leader;
      const standby = other.store.engine;
      const wards = { name: "wards", reason: 'no file "wards.csv"' };
      await book.tellReferenceFailures(fence, [wards, { name: "labs", reason: "away" }]);
      const [labs, first] = await standby.referenceFailures();
      expect(labs).toMatchObject({ name: "labs", reason: "away", failedAt: expect.any(Number) });
      expect(first).toMatchObject(wards);
      await book.tellReferenceFailures(fence, [wards]);
      expect(await standby.referenceFailures()).toEqual([first]);
      await book.tellReferenceFailures(fence, [{ ...wards, reason: "another" }]);
      expect(await standby.referenceFailures()).toMatchObject([{ name: "wards", reason: "another" }]);
      await book.tellReferenceFailures(fence, []);
      expect(await standby.referenceFailures()).toEqual([]);
    });

    it("may have 100,000 rows", async () => {
      const { book, fence } = leader;
      const many = Array.from({ length: 100_000 }, (_, n) => ({
        key: `key ${n}`,
        value: { n, name: `row number ${n}` },
      }));
      await book.publishReference(fence, { name: "large", hash: "h", rows: many });
      const read = await other.store.engine.readReference("large", 1);
      expect(read).toHaveLength(100_000);
      expect(read?.at(-1)).toEqual(many.at(-1));
    });
  });

  describe("the configuration", () => {
    it("has a version that every node hears of with its next beat", async () => {
      const heard: StoreNews[] = [];
      other.store.registry.follow((news) => heard.push(news));
      expect(await leader.book.raiseConfigVersion()).toBe(1);
      expect(await other.store.engine.raiseConfigVersion()).toBe(2);
      expect(await leader.book.configVersion()).toBe(2);
      await other.beat();
      expect(heard.at(-1)).toMatchObject({ kind: "beat", configVersion: 2 });
    });

    it("is shown for each node: what it runs, what its directory is, and why it cannot run that", async () => {
      await leader.book.publishConfig(player.holder, { version: 3, hash: "aa", error: null });
      await leader.book.publishConfig(other.holder, { version: 2, hash: "bb", error: "port 2575 is used twice\0" });
      expect(await other.store.engine.configs()).toMatchObject([
        { nodeId: "a", version: 3, hash: "aa", error: null },
        { nodeId: "b", version: 2, hash: "bb", error: expect.stringContaining("port 2575 is used twice") },
      ]);
      await leader.book.publishConfig(other.holder, { version: 3, hash: "aa", error: null });
      expect((await leader.book.configs()).at(-1)).toEqual({ nodeId: "b", version: 3, hash: "aa", error: null });
    });

    it("is a process's own: what an earlier one of the same node said does not count", async () => {
      const earlier = { ...other.holder, incarnation: "b-0" as typeof other.holder.incarnation };
      await leader.book.publishConfig(earlier, { version: 9, hash: "old", error: null });
      expect(await leader.book.configs()).toEqual([]);
    });
  });
});
