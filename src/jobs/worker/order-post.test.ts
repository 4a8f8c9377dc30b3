import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../errors.js";
import type { Collection, WorkerBook } from "../../store/worker-contract.js";
import { TestClock } from "../../testing.js";
import type { Json } from "../core/job.js";
import { OrderPost } from "./order-post.js";
import type { WorkerAnswer, WorkerOrder } from "./worker-order.js";

const order: WorkerOrder = { kind: "give_back", agent: "node:b", leaseId: "l" };
const answer: WorkerAnswer = { kind: "done", ttlMs: 60_000, answer: [] };
const never = new AbortController().signal;

/** A book that the test answers in, and that counts what it is asked. */
function scene() {
  const clock = new TestClock();
  const rows = new Map<string, Json>();
  const calls: string[] = [];
  const unclaimed: string[] = [];
  const troubles: string[] = [];
  const broken = new Set<string>();
  const called = (name: string): void => {
    calls.push(name);
    if (broken.has(name)) throw new HoldfastError("DATABASE_AWAY", "away");
  };
  const book: Pick<WorkerBook, "send" | "withdraw" | "collect"> = {
    send: async (id) => {
      // A reply that is lost: the row is there.
      if (!rows.has(id)) rows.set(id, null);
      called("send");
      await Promise.resolve();
    },
    withdraw: async (id) => {
      called("withdraw");
      const known = rows.get(id) ?? null;
      rows.delete(id);
      return await Promise.resolve(known);
    },
    collect: async (): Promise<Collection> => {
      called("collect");
      const answered = [...rows].filter(([, given]) => given !== null);
      for (const [id] of answered) rows.delete(id);
      return await Promise.resolve({
        answers: answered.map(([id, given]) => ({ id, answer: given })),
        waiting: [...rows.keys()],
      });
    },
  };
  const post = new OrderPost({
    book,
    clock,
    incarnation: "i",
    beatMs: 1_000,
    trouble: (what) => troubles.push(what),
    unclaimed: (id) => unclaimed.push(id),
  });
  const ask = (id: string, timeoutMs = 60_000, signal = never) => post.ask(id, order, { timeoutMs, signal });
  const reply = (id: string): void => void rows.set(id, answer as unknown as Json);
  return { clock, rows, calls, unclaimed, troubles, broken, post, ask, reply };
}

describe("the post of a worker", () => {
  it("has an answer as soon as a notice tells of it", async () => {
    const { clock, post, ask, reply, rows } = scene();
    const asked = ask("1");
    await clock.advance(10);
    reply("1");
    post.hear();
    await clock.advance(0);
    expect(await asked).toEqual(answer);
    expect(rows.size).toBe(0);
  });

  it("finds it within a beat where the notice was lost", async () => {
    const { clock, ask, reply } = scene();
    const asked = ask("1");
    await clock.advance(10);
    reply("1");
    await clock.advance(1_000);
    expect(await asked).toEqual(answer);
  });

  it("looks ever less often while nothing comes, and not at all while nothing is waited for", async () => {
    const { clock, calls, ask, post } = scene();
    await clock.advance(60_000);
    post.hear();
    await clock.advance(60_000);
    expect(calls).toEqual([]);
    const asked = ask("1", 60_000);
    await clock.advance(60_000);
    expect(await asked).toBeNull();
    expect(calls.filter((call) => call === "collect").length).toBeLessThan(12);
    calls.length = 0;
    await clock.advance(60_000);
    expect(calls).toEqual([]);
  });

  it("takes back what nobody waits for any more, and still hands over an answer that was there", async () => {
    const { clock, rows, ask, reply } = scene();
    const called = new AbortController();
    const [one, two] = [ask("1", 60_000, called.signal), ask("2", 60_000, called.signal)];
    await clock.advance(10);
    reply("2");
    called.abort();
    expect(await one).toBeNull();
    expect(await two).toEqual(answer);
    expect(rows.size).toBe(0);
  });

  it("knows when its order is gone with the database's memory", async () => {
    const { clock, rows, ask } = scene();
    const asked = ask("1");
    await clock.advance(10);
    rows.clear();
    await clock.advance(1_000);
    expect(await asked).toBeNull();
  });

  it("takes back an order of which it is not known whether it arrived", async () => {
    const { clock, rows, broken, troubles, ask } = scene();
    broken.add("send");
    expect(await ask("1")).toBeNull();
    expect(rows.has("1")).toBe(true);
    await clock.advance(10_000);
    expect(rows.has("1")).toBe(false);
    expect(troubles).toEqual(["cannot ask the leader for work"]);
  });

  it("tells of an answer that nobody waits for", async () => {
    const { clock, broken, unclaimed, ask, reply, rows } = scene();
    broken.add("send");
    expect(await ask("1")).toBeNull();
    reply("1");
    await clock.advance(10_000);
    expect(unclaimed).toEqual(["1"]);
    expect(rows.size).toBe(0);
  });

  it("waits on through a database that is away", async () => {
    const { clock, broken, ask, reply } = scene();
    const asked = ask("1", 120_000);
    await clock.advance(10);
    broken.add("collect");
    await clock.advance(20_000);
    reply("1");
    broken.clear();
    await clock.advance(10_000);
    expect(await asked).toEqual(answer);
  });

  it("asks for nothing once it is closed", async () => {
    const { clock, calls, ask, post } = scene();
    const asked = ask("1");
    await clock.advance(10);
    post.close();
    expect(await asked).toBeNull();
    expect(await ask("2")).toBeNull();
    calls.length = 0;
    await clock.advance(60_000);
    expect(calls).toEqual([]);
  });

  it("names its process in every id", () => {
    const { post } = scene();
    expect(post.newId()).toMatch(/^worker:i:[0-9a-f-]{36}$/);
  });
});
