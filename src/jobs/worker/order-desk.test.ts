import { describe, expect, it } from "vitest";
import { DrainingError, HoldfastError, NotLeaderError } from "../../errors.js";
import type { LeaseAnswer } from "../../store/job-orders.js";
import type { ForsakenLease, OrderAnswer, PendingOrder, WorkerBook } from "../../store/worker-contract.js";
import { TestClock } from "../../testing.js";
import type { Json } from "../core/job.js";
import type { LeaseWish } from "../lease-polls.js";
import type { OrderTaker } from "./order-carrying.js";
import { OrderDesk } from "./order-desk.js";

const wish = { kind: "lease", agent: "node:b", namespace: "default", capabilities: [], maxTasks: 4, waitMs: 60_000 };

interface Waiting {
  readonly wish: LeaseWish;
  readonly signal: AbortSignal;
  readonly resolve: (answer: LeaseAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** A desk whose book and jobs the test plays. */
function scene() {
  const clock = new TestClock();
  const rows = new Map<string, PendingOrder>();
  const answered: OrderAnswer[] = [];
  const leases: Waiting[] = [];
  const done: string[] = [];
  const forsaken: ForsakenLease[] = [];
  const silences: number[] = [];
  const troubles: string[] = [];
  let isAway = false;
  const reach = (): void => {
    if (isAway) throw new HoldfastError("DATABASE_AWAY", "away");
  };
  const book: Pick<WorkerBook, "pending" | "answer" | "forsaken"> = {
    pending: async (known) => {
      reach();
      return await Promise.resolve(
        [...rows.values()].map((row) => (known.includes(row.id) ? { ...row, body: null } : row)),
      );
    },
    answer: async (answers) => {
      reach();
      for (const { id } of answers) rows.delete(id);
      answered.push(...answers);
      await Promise.resolve();
    },
    forsaken: async (silenceMs) => {
      reach();
      silences.push(silenceMs);
      done.push("looked for the dead");
      return await Promise.resolve(forsaken.splice(0));
    },
  };
  const jobs: OrderTaker = {
    settings: { leaseTtlMs: 60_000 },
    heartbeat: async () => await Promise.resolve({ kind: "seen" as const }),
    lease: async (given, _waitMs, signal) =>
      await new Promise((resolve, reject) => {
        leases.push({ wish: given, signal, resolve, reject });
        signal.addEventListener("abort", () => resolve({ kind: "none" }), { once: true });
      }),
    renew: async () => await Promise.reject(new HoldfastError("INVALID_REQUEST", "no")),
    report: async () => await Promise.reject(new DrainingError()),
    giveBack: async (agent, leaseId) => {
      done.push(`gave back ${agent} ${leaseId}`);
      return await Promise.resolve(["job"]);
    },
    forsake: async (agent, leaseId) => {
      done.push(`took ${leaseId} from ${agent}`);
      return await Promise.resolve(["job"]);
    },
  };
  const desk = new OrderDesk({
    book,
    jobs,
    clock,
    nodeId: "a",
    beatMs: 1_000,
    nodeTimeoutMs: 5_000,
    trouble: (what) => troubles.push(what),
    gaveBack: (agent, number) => done.push(`${agent} lost ${number}`),
  });
  const put = (id: string, body: object, nodeId = "b"): void =>
    void rows.set(id, { id, nodeId, incarnation: `${nodeId}-1`, body: body as Json });
  const away = (is: boolean): void => {
    isAway = is;
  };
  return { clock, desk, rows, put, answered, leases, done, forsaken, silences, troubles, away };
}

const kinds = (answers: readonly OrderAnswer[]) =>
  answers.map(({ id, answer }): [string, string] => [id, (answer as { kind: string }).kind]);

describe("the leader's desk for workers", () => {
  it("finds what waits when its term begins, at a notice, and at the latest after a beat", async () => {
    const { clock, desk, put, leases } = scene();
    put("1", wish);
    void desk.run();
    await clock.advance(0);
    expect(leases.map((lease) => lease.wish.leaseId)).toEqual(["1"]);
    put("2", wish);
    desk.hear();
    await clock.advance(0);
    put("3", wish);
    await clock.advance(1_000);
    expect(leases.map((lease) => lease.wish.leaseId)).toEqual(["1", "2", "3"]);
    desk.end();
  });

  it("answers when there is work, once, and begins nothing twice", async () => {
    const { clock, desk, put, leases, answered } = scene();
    put("1", { ...wish, running: 1, places: 4 });
    void desk.run();
    await clock.advance(5_000);
    expect(leases).toHaveLength(1);
    expect(leases[0]?.wish).toMatchObject({ agent: "node:b", load: { running: 1, places: 4, isLastResort: false } });
    leases[0]?.resolve({ kind: "none" });
    await clock.advance(5_000);
    expect(answered).toEqual([{ id: "1", answer: { kind: "done", ttlMs: 60_000, answer: { kind: "none" } } }]);
    // A look that began before the answer shows the row again.
    put("1", wish);
    await clock.advance(5_000);
    expect(leases).toHaveLength(1);
    desk.end();
  });

  it("calls off what was withdrawn, and what whoever asked for it gives back", async () => {
    const { clock, desk, put, rows, leases, done } = scene();
    put("1", wish);
    put("2", wish);
    void desk.run();
    await clock.advance(0);
    rows.delete("1");
    put("3", { kind: "give_back", agent: "node:b", leaseId: "2" });
    desk.hear();
    await clock.advance(0);
    expect(leases.map(({ signal }) => signal.aborted)).toEqual([true, true]);
    expect(done).toContain("gave back node:b 2");
    desk.end();
  });

  it("leaves to the next leader what this one takes no more, and does not ask itself again", async () => {
    const { clock, desk, put, rows, answered, leases } = scene();
    put("1", { kind: "report", results: [] });
    put("2", wish);
    void desk.run();
    await clock.advance(0);
    leases[0]?.reject(new DrainingError());
    await clock.advance(5_000);
    expect(answered).toEqual([]);
    expect([...rows.keys()]).toEqual(["1", "2"]);
    expect(leases).toHaveLength(1);
    desk.end();
  });

  it("takes up again what a worker waits for that seemed dead for a moment", async () => {
    const { clock, desk, put, rows, leases, answered } = scene();
    put("1", wish);
    void desk.run();
    await clock.advance(0);
    rows.delete("1");
    await clock.advance(1_000);
    expect(leases[0]?.signal.aborted).toBe(true);
    put("1", wish);
    await clock.advance(1_000);
    expect(leases.map((lease) => lease.wish.leaseId)).toEqual(["1", "1"]);
    leases[1]?.resolve({ kind: "none" });
    await clock.advance(0);
    expect(kinds(answered)).toEqual([["1", "done"]]);
    desk.end();
  });

  it("tries again what it could not take while it was not sure that it leads", async () => {
    const { clock, desk, put, leases, answered } = scene();
    put("1", wish);
    void desk.run();
    await clock.advance(0);
    leases[0]?.reject(new NotLeaderError("Not now."));
    await clock.advance(1_000);
    expect(leases).toHaveLength(2);
    leases[1]?.resolve({ kind: "none" });
    await clock.advance(0);
    expect(kinds(answered)).toEqual([["1", "done"]]);
    desk.end();
  });

  it("never takes up again what was given back", async () => {
    const { clock, desk, put, leases } = scene();
    put("1", wish);
    void desk.run();
    await clock.advance(0);
    put("2", { kind: "give_back", agent: "node:b", leaseId: "1" });
    await clock.advance(5_000);
    expect(leases).toHaveLength(1);
    desk.end();
  });

  it("refuses what it does not understand, and tells what the jobs refused", async () => {
    const { clock, desk, put, answered } = scene();
    put("1", { kind: "sing" });
    put("2", { kind: "renew", agent: "node:b", leaseId: "l", progress: [] });
    put("3", {
      kind: "heartbeat",
      agent: "node:b",
      namespace: "default",
      capabilities: [],
      tasks: 0,
      registers: false,
    });
    void desk.run();
    await clock.advance(0);
    expect(Object.fromEntries(kinds(answered))).toEqual({ 1: "refused", 2: "refused", 3: "done" });
    desk.end();
  });

  it("gives back what the dead had when a term begins, when members change, and when a worker registers", async () => {
    const { clock, desk, put, done, forsaken } = scene();
    forsaken.push({ agent: "node:x", leaseId: "worker:x:1" });
    void desk.run();
    await clock.advance(0);
    expect(done).toEqual(["looked for the dead", "took worker:x:1 from node:x", "node:x lost 1"]);
    done.length = 0;
    forsaken.push({ agent: "node:y", leaseId: "worker:y:1" });
    desk.membersChanged();
    await clock.advance(0);
    expect(done).toContain("took worker:y:1 from node:y");
    done.length = 0;
    put("1", { kind: "heartbeat", agent: "node:b", namespace: "default", capabilities: [], tasks: 0, registers: true });
    desk.hear();
    await clock.advance(0);
    expect(done).toEqual(["looked for the dead"]);
    desk.end();
  });

  it("judges nobody by its silence before the database has answered for a node timeout, and again when it was away", async () => {
    const { clock, desk, silences, away } = scene();
    const judged = async (afterMs: number): Promise<boolean> => {
      await clock.advance(afterMs);
      silences.length = 0;
      desk.membersChanged();
      await clock.advance(0);
      expect(silences).toHaveLength(1);
      return silences[0] === 5_000;
    };
    void desk.run();
    expect(await judged(4_000)).toBe(false);
    silences.length = 0;
    await clock.advance(2_000);
    // It is looked for the dead as soon as they can be told.
    expect(silences).toEqual([5_000]);
    expect(await judged(1_000)).toBe(true);
    away(true);
    await clock.advance(10_000);
    away(false);
    await clock.advance(1_000);
    expect(await judged(2_000)).toBe(false);
    expect(await judged(5_000)).toBe(true);
    desk.end();
  });

  it("goes on when the database is back, and keeps its answers until then", async () => {
    const { clock, desk, put, away, leases, answered, troubles } = scene();
    put("1", wish);
    void desk.run();
    await clock.advance(0);
    away(true);
    leases[0]?.resolve({ kind: "none" });
    await clock.advance(10_000);
    expect(answered).toEqual([]);
    away(false);
    await clock.advance(10_000);
    expect(kinds(answered)).toEqual([["1", "done"]]);
    expect(troubles.length).toBeGreaterThan(0);
    desk.end();
  });

  it("calls everything off when its term ends", async () => {
    const { clock, desk, put, leases, rows } = scene();
    put("1", wish);
    const running = desk.run();
    await clock.advance(0);
    desk.end();
    await running;
    expect(leases[0]?.signal.aborted).toBe(true);
    put("2", wish);
    await clock.advance(10_000);
    expect(leases).toHaveLength(1);
    expect(rows.has("2")).toBe(true);
  });
});
