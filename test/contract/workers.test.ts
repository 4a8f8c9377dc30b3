import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { StoreNews } from "../../src/store/contract.js";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { workerLeasePrefix } from "../../src/store/worker-contract.js";
import { memoryHarness, Player, postgresHarness, type StoreHarness } from "./harness.js";
import { JobLeader } from "./job-leader.js";

const hour = 3_600_000;

/** What every store keeps of the letters between workers and the leader. */
describe.each([
  ["memory", memoryHarness],
  ["postgres", postgresHarness],
] as const)("the workers' book in the %s store", (_name, makeHarness) => {
  let harness: StoreHarness;
  let leader: Player;
  let worker: Player;

  beforeEach(async () => {
    harness = await makeHarness();
    leader = await Player.join(harness, "a");
    worker = await Player.join(harness, "b");
  });

  afterEach(async () => {
    leader.crash();
    worker.crash();
    await harness[Symbol.asyncDispose]();
  });

  const pendingIds = async (known: readonly string[] = []) =>
    (await leader.store.workers.pending(known, hour)).map(({ id }) => id);

  it("shows the leader what waits, the oldest first, and by whom it was asked", async () => {
    await worker.store.workers.send("1", { kind: "lease", places: 4 });
    await worker.store.workers.send("2", ["anything", { of: null }]);
    expect(await leader.store.workers.pending([], hour)).toEqual([
      { id: "1", nodeId: "b", incarnation: "b-1", body: { kind: "lease", places: 4 } },
      { id: "2", nodeId: "b", incarnation: "b-1", body: ["anything", { of: null }] },
    ]);
  });

  it("does not send what the leader knows again, but tells that it still waits", async () => {
    await worker.store.workers.send("1", { n: 1 });
    await worker.store.workers.send("2", { n: 2 });
    const pending = await leader.store.workers.pending(["1"], hour);
    expect(pending.map(({ id, body }) => [id, body])).toEqual([
      ["1", null],
      ["2", { n: 2 }],
    ]);
  });

  it("keeps an order that is sent twice as it was", async () => {
    await worker.store.workers.send("1", { n: 1 });
    await worker.store.workers.send("1", { n: 2 });
    expect((await leader.store.workers.pending([], hour)).map(({ body }) => body)).toEqual([{ n: 1 }]);
  });

  it("hands each answer to its process once, and tells what still waits", async () => {
    for (const id of ["1", "2", "3"]) await worker.store.workers.send(id, { id });
    await leader.store.workers.answer([
      { id: "3", answer: { kind: "done", text: "\u0000 as it came" } },
      { id: "1", answer: { kind: "done" } },
    ]);
    expect(await pendingIds()).toEqual(["2"]);
    expect(await leader.store.workers.collect()).toEqual({ answers: [], waiting: [] });
    const { answers, waiting } = await worker.store.workers.collect();
    expect(answers.toSorted((one, other) => (one.id < other.id ? -1 : 1))).toEqual([
      { id: "1", answer: { kind: "done" } },
      { id: "3", answer: { kind: "done", text: "\u0000 as it came" } },
    ]);
    expect(waiting).toEqual(["2"]);
    expect(await worker.store.workers.collect()).toEqual({ answers: [], waiting: ["2"] });
  });

  it("lets the first answer count", async () => {
    await worker.store.workers.send("1", {});
    await leader.store.workers.answer([{ id: "1", answer: { n: 1 } }]);
    await leader.store.workers.answer([{ id: "1", answer: { n: 2 } }]);
    expect((await worker.store.workers.collect()).answers).toEqual([{ id: "1", answer: { n: 1 } }]);
  });

  it("forgets an order that is withdrawn, and drops the answer to it", async () => {
    await worker.store.workers.send("1", {});
    expect(await worker.store.workers.withdraw("1")).toBeNull();
    expect(await pendingIds()).toEqual([]);
    await leader.store.workers.answer([{ id: "1", answer: { n: 1 } }]);
    expect(await worker.store.workers.collect()).toEqual({ answers: [], waiting: [] });
    expect(await worker.store.workers.withdraw("1")).toBeNull();
  });

  it("answers with what had been answered when it is withdrawn too late", async () => {
    await worker.store.workers.send("1", {});
    await leader.store.workers.answer([{ id: "1", answer: { n: 1 } }]);
    expect(await worker.store.workers.withdraw("1")).toEqual({ n: 1 });
    expect(await worker.store.workers.collect()).toEqual({ answers: [], waiting: [] });
  });

  it("shows nothing of a process that lives no more", async () => {
    await worker.store.workers.send("1", {});
    expect(await leader.store.workers.pending([], -1)).toEqual([]);
    expect(await pendingIds()).toEqual(["1"]);
    await worker.store.registry.leave();
    expect(await pendingIds()).toEqual([]);
  });

  it("goes by the silence that the leader allows, whoever has called the process dead", async () => {
    await worker.store.workers.send("1", {});
    const rules = { nodeTimeoutMs: -1, markDead: true, forgetAfterMs: hour, historyDays: 0, auditDays: 0 };
    expect((await leader.store.registry.tidy(rules)).died).toContain("b");
    expect(await leader.store.workers.pending([], -1)).toEqual([]);
    expect(await pendingIds()).toEqual(["1"]);
  });

  it("tells the leader of orders, and the worker of answers, as they come", async () => {
    const heard = (player: Player): string[] => {
      const kinds: string[] = [];
      player.store.registry.follow((news: StoreNews) => kinds.push(news.kind));
      return kinds;
    };
    const [byLeader, byWorker] = [heard(leader), heard(worker)];
    const isHeard = async (kinds: readonly string[], kind: string): Promise<boolean> =>
      await waitUntil(() => kinds.includes(kind), 10_000);
    await worker.store.workers.send("1", {});
    expect(await isHeard(byLeader, "worker_order")).toBe(true);
    await leader.store.workers.answer([{ id: "1", answer: {} }]);
    expect(await isHeard(byWorker, "worker_answer")).toBe(true);
    expect(byLeader).not.toContain("worker_answer");
    byLeader.length = 0;
    await worker.store.workers.send("2", {});
    expect(await isHeard(byLeader, "worker_order")).toBe(true);
    byLeader.length = 0;
    await worker.store.workers.withdraw("2");
    expect(await isHeard(byLeader, "worker_order")).toBe(true);
  });

  it("knows the leases of processes that live no more, and forgets what those waited for", async () => {
    const jobs = await JobLeader.elect(leader);
    for (const id of ["x", "y", "z"]) await jobs.submit(id);
    const lease = async (leaseId: string) => await jobs.take(leaseId, { agent: "node:b", maxTasks: 1 });
    await lease(`${workerLeasePrefix("b-1")}1`);
    await lease(`${workerLeasePrefix("b-0")}1`);
    await lease("an-agent-of-that-name");
    await worker.store.workers.send("1", {});
    const { workers } = leader.store;
    expect(await workers.forsaken(hour)).toEqual([{ agent: "node:b", leaseId: "worker:b-0:1" }]);
    expect(await pendingIds()).toEqual(["1"]);
    await worker.store.registry.leave();
    expect((await workers.forsaken(hour)).map(({ leaseId }) => leaseId).toSorted()).toEqual([
      "worker:b-0:1",
      "worker:b-1:1",
    ]);
    expect(await worker.store.workers.collect()).toEqual({ answers: [], waiting: [] });
    for (const { agent, leaseId } of await workers.forsaken(hour)) {
      await jobs.do({ kind: "give_back", agent, leaseId, jobIds: null });
    }
    expect(await workers.forsaken(hour)).toEqual([]);
    expect((await jobs.book.job("x"))?.attempts).toBe(0);
  });
});
