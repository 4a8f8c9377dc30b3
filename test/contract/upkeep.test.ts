import { describe, expect, it } from "vitest";
import type { Incarnation, Role } from "../../src/election/core/names.js";
import { StaleEpochError } from "../../src/errors.js";
import type { MetricsRound } from "../../src/store/metrics-contract.js";
import { memoryHarness, Player, postgresHarness, type StoreHarness } from "./harness.js";
import { JobLeader, leaseOrder, openJobsForEach, result, submission } from "./job-leader.js";

const day = 86_400_000;
const round = (rest: Partial<MetricsRound> = {}): MetricsRound => ({
  processes: [],
  retired: [],
  takenIn: [],
  totals: "totals",
  nodes: "nodes",
  pointsKeptMs: 60_000,
  ...rest,
});

/** What is kept of the cluster's metrics, and what is forgotten because it is old: the same on both stores. */
describe.each([
  ["memory", memoryHarness],
  ["postgres", postgresHarness],
] as const)("the %s store", (_name, makeHarness) => {
  let harness: StoreHarness;
  let player: Player;
  let leader: JobLeader;

  openJobsForEach(makeHarness, (opened) => {
    ({ harness, player, leader } = opened);
  });

  describe("of the metrics", () => {
    it("has the last copy of each process, also of one that is gone, until it was taken in", async () => {
      const { metrics, snapshots, registry } = player.store;
      await using b = await Player.join(harness, "b");
      await snapshots.save("old");
      await snapshots.save("of a");
      await b.store.snapshots.save("of b");
      await b.store.registry.leave();
      await harness.advance(5_000);
      const copies = await metrics.copies();
      expect(copies).toMatchObject([
        { nodeId: "a", incarnation: "a-1", text: "of a", isGone: false },
        { nodeId: "b", incarnation: "b-1", text: "of b", isGone: true },
      ]);
      for (const { ageMs } of copies) expect(ageMs).toBeGreaterThanOrEqual(5_000);
      expect(await snapshots.all()).toMatchObject([{ nodeId: "a" }]);
      await registry.tidy({ nodeTimeoutMs: 1e9, markDead: true, forgetAfterMs: 1e9, historyDays: 0, auditDays: 0 });
      expect(await metrics.copies()).toHaveLength(2);
      await metrics.keep(leader.fence, round({ takenIn: ["b-1"] }));
      expect(await metrics.copies()).toMatchObject([{ nodeId: "a" }]);
    });

    it("keeps what each process has counted, whatever is in it, and forgets those that were put together", async () => {
      const { metrics } = player.store;
      const one = { incarnation: "a-1", nodeId: "a'b", text: 'zähler{x="$hf$ \' \\\\"} 1\n' };
      const two = { incarnation: "b-1", nodeId: "b", text: "" };
      expect([await metrics.processes(), await metrics.totals()]).toEqual([[], null]);
      await metrics.keep(leader.fence, round({ processes: [one, two] }));
      await harness.advance(day);
      await metrics.keep(leader.fence, round({ processes: [{ ...two, text: "2" }] }));
      const [kept, renewed] = await metrics.processes();
      expect([kept, renewed]).toMatchObject([one, { ...two, text: "2" }]);
      expect((await metrics.totals("a-1" as Incarnation))?.ofProcess).toBe(one.text);
      expect((await metrics.totals("c-1" as Incarnation))?.ofProcess).toBe("");
      expect((await metrics.totals())?.ofProcess).toBe("");
      expect(kept?.ageMs).toBeGreaterThanOrEqual(day);
      expect(renewed?.ageMs).toBeLessThan(day / 2);
      const gone = { incarnation: "", nodeId: "", text: "sum" };
      await metrics.keep(leader.fence, round({ processes: [gone], retired: ["a-1", "b-1"] }));
      expect(await metrics.processes()).toMatchObject([gone]);
    });

    it("has a point for every round of a while, oldest first, and the newest totals", async () => {
      const { metrics } = player.store;
      const pointsKeptMs = 30_000;
      for (const text of ["1", "2", "3"]) {
        await metrics.keep(leader.fence, round({ totals: `t${text}`, nodes: `n${text}`, pointsKeptMs }));
        await harness.advance(10_000);
      }
      const texts = async (withinMs: number) => (await metrics.points(withinMs)).map(({ nodes }) => nodes);
      expect(await texts(60_000)).toEqual(["n1", "n2", "n3"]);
      expect(await texts(15_000)).toEqual(["n3"]);
      const totals = await metrics.totals();
      expect(totals?.text).toBe("t3");
      expect(totals?.ageMs).toBeGreaterThanOrEqual(10_000);
      expect(totals?.at).toBe((await metrics.points(60_000)).at(-1)?.at);
      await harness.advance(5_000);
      await metrics.keep(leader.fence, round({ totals: "t4", nodes: "n4", pointsKeptMs }));
      const points = await metrics.points(3_600_000);
      expect(points.map(({ totals: text }) => text)).toEqual(["t2", "t3", "t4"]);
      expect((points[1]?.at ?? 0) - (points[0]?.at ?? 0)).toBeGreaterThanOrEqual(9_999);
    });
  });

  describe("of what is old", () => {
    it("forgets the history of elections, oldest first, but never a role's last line", async () => {
      const { store } = player;
      const { compaction } = store;
      await store.ensureRoles([{ role: "other" as Role, lockKey: null }]);
      await store.advanceEpoch("other" as Role, 5n as never);
      for (const epoch of [10n, 20n, 30n]) await store.advanceEpoch(leader.fence.role, epoch as never);
      const lines = async () => (await store.history({ limit: 99 })).map(({ role, epoch }) => `${role} ${epoch}`);
      const before = await lines();
      await harness.advance(10 * day);
      const ruling = await JobLeader.elect(player);
      expect(await compaction.forgetHistory(ruling.fence, 11, 99)).toBe(0);
      expect(await compaction.forgetHistory(ruling.fence, 9, 2)).toBe(1);
      expect(await compaction.forgetHistory(ruling.fence, 9, 99)).toBe(before.length - 2);
      expect(await lines()).toEqual([`scheduler ${ruling.fence.epoch}`, "other 5"]);
      expect(await compaction.forgetHistory(ruling.fence, 9, 99)).toBe(0);
    });

    it("forgets the audit, so much at a time, and never the last 30 days", async () => {
      const { access, compaction } = player.store;
      const entry = { actor: "ann", action: "POST /v1/x", target: null, address: null };
      for (const action of ["one", "two", "three"]) await access.beginAudit({ ...entry, action });
      await harness.advance(29 * day);
      const ruling = await JobLeader.elect(player);
      expect(await compaction.forgetAudit(ruling.fence, 1, 99)).toBe(0);
      await harness.advance(2 * day);
      const { fence } = await JobLeader.elect(player);
      await access.beginAudit({ ...entry, action: "new" });
      expect(await compaction.forgetAudit(fence, 40, 99)).toBe(0);
      expect(await compaction.forgetAudit(fence, 1, 2)).toBe(2);
      expect(await compaction.forgetAudit(fence, 1, 2)).toBe(1);
      expect(await access.audit({ limit: 9 })).toMatchObject([{ action: "new" }]);
      await access.beginAudit({ ...entry, action: "newer" });
      const ids = (await access.audit({ limit: 9 })).map(({ id }) => Number(id));
      expect(ids[0]).toBeGreaterThan(ids[1] ?? 0);
    });

    it("goes through finished jobs in slices, as far as they can be old enough", async () => {
      const { book } = leader;
      const names = Array.from({ length: 5 }, (_, index) => `old-${index}`);
      await leader.do(...names.map((jobId) => submission(jobId)), leaseOrder("l1"));
      await leader.do(...names.map((jobId) => result(jobId, 1)));
      await harness.advance(2 * day);
      const { fence } = await JobLeader.elect(player);
      await book.apply(fence, [submission("new-1"), submission("new-2"), submission("new-3")]);
      const ages = { jobsOlderThanMs: day, eventsOlderThanMs: 1e12, agentsOlderThanMs: 1e12 };
      const slice = async (from: number) =>
        await book.compact(fence, { states: ["succeeded"], ...ages, from, limit: 3 });
      const first = await slice(0);
      expect(first).toMatchObject({ jobs: 3, next: 4 });
      expect(await slice(first.next ?? 0)).toMatchObject({ jobs: 2, next: null });
      expect((await book.jobs({}, { limit: 9 })).jobs).toHaveLength(3);
    });
  });

  it("refuses every write of a deposed epoch, tells of each, and leaves everything as it was", async () => {
    const { store } = player;
    await store.snapshots.save("copy");
    await store.access.beginAudit({ actor: "ann", action: "x", target: null, address: null });
    await leader.submit("one");
    await player.release(leader.fence.epoch);
    await player.lead();
    const refused: string[] = [];
    store.onRefused(({ role, epoch }) => refused.push(`${role} ${epoch}`));
    const { fence } = leader;
    const writes = [
      () => store.metrics.keep(fence, round({ takenIn: ["a-1"] })),
      () => store.compaction.forgetHistory(fence, 0, 9),
      () => store.compaction.forgetAudit(fence, 0, 9),
      () => store.compaction.forgetDemands(fence, 0, 9),
      () => store.jobs.apply(fence, [submission("two")]),
      () => store.crons.forget(fence, 0, 9),
      () => store.queue.sweep(fence, "q"),
      () => store.queue.openSegment(fence, "q"),
    ];
    for (const write of writes) await expect(write()).rejects.toBeInstanceOf(StaleEpochError);
    expect(refused).toEqual(writes.map(() => `scheduler ${fence.epoch}`));
    expect(await store.metrics.totals()).toBeNull();
    expect(await store.metrics.copies()).toHaveLength(1);
    expect((await store.jobs.jobs({}, { limit: 9 })).jobs).toHaveLength(1);
  });
});

describe("the postgres store, where jobs share the row of what they ask for,", () => {
  let player: Player;
  let leader: JobLeader;

  openJobsForEach(postgresHarness, (opened) => {
    ({ player, leader } = opened);
  });

  it("forgets what no job asks for any more, and nothing that one does", async () => {
    const { compaction } = player.store;
    const demanding = (jobId: string, capability: string) => submission(jobId, { capabilities: [capability] });
    await leader.do(demanding("kept", "kept"), demanding("gone", "gone"), demanding("gone-2", "gone-2"));
    await leader.do({ kind: "cancel", jobId: "gone" }, { kind: "cancel", jobId: "gone-2" });
    const everything = { jobsOlderThanMs: 0, eventsOlderThanMs: 0, agentsOlderThanMs: 0, from: 0, limit: 9 };
    await leader.book.compact(leader.fence, { states: ["cancelled"], ...everything });
    expect(await compaction.forgetDemands(leader.fence, 3, 9)).toBe(0);
    expect(await compaction.forgetDemands(leader.fence, 2, 1)).toBe(1);
    expect(await compaction.forgetDemands(leader.fence, 0, 9)).toBe(1);
    expect(await compaction.forgetDemands(leader.fence, 0, 9)).toBe(0);
    expect(await leader.book.job("kept")).toMatchObject({ capabilities: ["kept"] });
    await leader.do(demanding("again", "gone"));
    expect(await leader.takeIds("l1", { capabilities: ["gone", "kept"] })).toEqual(["kept", "again"]);
  });
});
