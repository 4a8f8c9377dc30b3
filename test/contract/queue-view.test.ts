import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LaneFilter } from "../../src/queue/seen-lane.js";
import type { QueueView } from "../../src/store/queue-view-contract.js";
import { memoryHarness, Player, postgresHarness, type StoreHarness } from "./harness.js";
import { messageAt, QueueLeader, queue, settlement } from "./queue-leader.js";

/** What any process sees of all queues. */
describe.each([
  ["memory", memoryHarness],
  ["postgres", postgresHarness],
] as const)("the view of the queues of the %s store", (_name, makeHarness) => {
  let harness: StoreHarness;
  let player: Player;
  let leader: QueueLeader;
  let view: QueueView;
  const failed = { attempts: 2, error: "boom" } as const;

  beforeEach(async () => {
    harness = await makeHarness();
    player = await Player.join(harness, "a");
    leader = await QueueLeader.elect(player);
    view = player.store.queueView;
  });

  afterEach(async () => {
    player.crash();
    await harness[Symbol.asyncDispose]();
  });

  const named = async (filter: Partial<LaneFilter>): Promise<readonly string[]> =>
    (await view.lanes({ limit: 100, ...filter })).map(({ lane }) => lane);

  /** One lane in each state, called by it. */
  async function fillStates(): Promise<void> {
    const ids = new Map<string, number>();
    for (const state of ["idle", "ready", "waiting", "in_flight", "paused", "blocked"]) {
      const id = await leader.lane(state);
      ids.set(state, id);
      if (state !== "idle") await leader.put(id, "one", "two");
    }
    const at = (state: string): number => ids.get(state) as number;
    await leader.claim(1, [at("waiting"), at("in_flight"), at("blocked")], 1);
    await leader.settle(
      settlement(at("waiting"), 1, 0, { head: { kind: "retry", waitMs: 60_000, ...failed } }),
      settlement(at("blocked"), 1, 0, { head: { kind: "blocked", ...failed } }),
    );
    await leader.book.setPaused(queue, { stage: "in", lane: "paused" }, true);
  }

  it("shows of each lane what holds it up, how deep it is and for how long", async () => {
    await fillStates();
    const lanes = await view.lanes({ limit: 100 });
    expect(lanes.map(({ lane, state }) => `${lane} ${state}`)).toEqual(lanes.map(({ lane }) => `${lane} ${lane}`));
    expect(lanes).toHaveLength(6);
    expect(lanes[0]).toEqual({
      id: expect.stringMatching(/^\d+$/),
      queue,
      role: "scheduler",
      stage: "in",
      lane: "idle",
      depth: 0,
      oldestMs: null,
      state: "idle",
      attempts: 0,
      reclaims: 0,
      waitMs: 0,
      paused: false,
      blocked: false,
      lastError: null,
    });
    expect(lanes[2]).toMatchObject({ depth: 2, attempts: 2, lastError: "boom", waitMs: expect.any(Number) });
    expect(lanes[2]?.waitMs).toBeGreaterThan(30_000);
    expect(lanes[2]?.oldestMs).toBeGreaterThanOrEqual(0);
    expect(lanes[2]?.oldestMs).toBeLessThan(60_000);
    await leader.book.setPaused(queue, { stage: "in", lane: "in_flight" }, true);
    expect(await view.lanes({ lane: "in_flight", limit: 1 })).toMatchObject([{ state: "paused", paused: true }]);
  });

  it("sums up the lanes of each stage", async () => {
    expect(await view.stages()).toEqual([]);
    await fillStates();
    const seen = { queue, role: "scheduler", stage: "in", lanes: 6, depth: 10, paused: 1, blocked: 1 };
    const stages = await view.stages();
    expect(stages).toEqual([{ ...seen, oldestMs: expect.any(Number) as number }]);
    const ages = (await view.lanes({ limit: 100 })).flatMap(({ oldestMs }) => oldestMs ?? []);
    expect(stages[0]?.oldestMs).toBeLessThanOrEqual(Math.max(...ages));
  });

  it("finds lanes by state, stage, name and queue", async () => {
    await fillStates();
    for (const state of ["idle", "ready", "waiting", "in_flight", "paused", "blocked"] as const) {
      expect(await named({ state })).toEqual([state]);
    }
    await leader.lane("idle", "out");
    const { book, fence } = leader;
    await book.recover(fence, { queue: "parcels", maxReclaims: 5, own: false });
    await book.openLanes(fence, "parcels", [{ stage: "in", lane: "p" }]);
    expect(await named({ stage: "out" })).toEqual(["idle"]);
    expect(await named({ lane: "idle" })).toEqual(["idle", "idle"]);
    expect(await named({ queue: "parcels" })).toEqual(["p"]);
    expect(await named({ queue, stage: "in", lane: "ready", state: "ready" })).toEqual(["ready"]);
    expect(await named({ queue, stage: "in", lane: "ready", state: "idle" })).toEqual([]);
    expect(await named({ queue: "none" })).toEqual([]);
  });

  it("pages, each lane once", async () => {
    const names = ["e", "d", "c", "b", "a"];
    for (const name of names) await leader.lane(name);
    const seen: string[] = [];
    for (let after: string | undefined; ; ) {
      const page = await view.lanes({ limit: 2, after });
      seen.push(...page.map(({ lane }) => lane));
      if (page.length < 2) break;
      after = page.at(-1)?.id;
    }
    expect(seen).toEqual(names);
  });

  it("shows what is left of a lane that was worked on, its head's age being that of the next", async () => {
    const lane = await leader.lane("x");
    await leader.put(lane, "one", "two", "three");
    await leader.claim(1, [lane], 2);
    await leader.settle(settlement(lane, 1, 2));
    expect(await view.lanes({ limit: 1 })).toMatchObject([{ depth: 1, state: "ready", oldestMs: expect.any(Number) }]);
    expect(await view.oldestMs(queue)).toBeGreaterThanOrEqual(0);
    await leader.claim(2, [lane]);
    await leader.settle(settlement(lane, 2, 3));
    expect(await view.lanes({ limit: 1 })).toMatchObject([{ depth: 0, state: "idle", oldestMs: null }]);
    expect(await view.oldestMs(queue)).toBeNull();
    expect(await view.oldestMs("none")).toBeNull();
  });

  describe("of the dead letters", () => {
    let lane: number;

    beforeEach(async () => {
      lane = await leader.lane("x");
      const other = await leader.lane("y", "out");
      const headers = { type: "secret" };
      await leader.book.append(leader.fence, leader.batch([{ ...messageAt(lane, 1, "body", "k1"), headers }]));
      await leader.put(other, "other");
      for (const id of [lane, other]) {
        await leader.claim(id, [id], 1);
        await leader.settle(settlement(id, id, 0, { head: { kind: "dead", ...failed } }));
      }
    });

    it("shows all of them, newest first, and neither body nor headers", async () => {
      const letters = await view.deadLetters({ limit: 9 });
      expect(letters.map((letter) => letter.lane)).toEqual(["y", "x"]);
      expect(letters[1]).toEqual({
        id: expect.stringMatching(/^\d+$/),
        queue,
        role: "scheduler",
        stage: "in",
        lane: "x",
        position: 1,
        key: "k1",
        size: 4,
        reason: "boom",
        attempts: 2,
        reclaims: 0,
        diedAt: expect.any(Number),
        redrivenAt: null,
        redrivenTo: null,
      });
      expect(await view.deadLetters({ limit: 1, before: letters[0]?.id })).toEqual([letters[1]]);
      expect(await view.deadLetters({ limit: 9, stage: "out" })).toEqual([letters[0]]);
      expect(await view.deadLetters({ limit: 9, queue, lane: "x" })).toEqual([letters[1]]);
      expect(await view.deadLetters({ limit: 9, queue: "none" })).toEqual([]);
    });

    it("shows one by its id, and its content only to whom asks for it", async () => {
      const [, letter] = await view.deadLetters({ limit: 9 });
      const id = letter?.id ?? "";
      expect(await view.deadLetter(id)).toEqual(letter);
      expect(await view.deadLetterBody(id)).toEqual({ headers: { type: "secret" }, body: Buffer.from("body") });
      for (const unknown of ["", "0", "x", "-1", "9".repeat(40)]) {
        expect(await view.deadLetter(unknown)).toBeNull();
        expect(await view.deadLetterBody(unknown)).toBeNull();
      }
      await leader.book.redrive(leader.fence, {
        queue,
        segment: leader.segment,
        letters: [{ id, lane, position: 2 }],
        waking: [],
      });
      expect(await view.deadLetter(id)).toMatchObject({ redrivenAt: expect.any(Number), redrivenTo: 2 });
    });
  });
});
