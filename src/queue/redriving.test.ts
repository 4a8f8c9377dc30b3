import { describe, expect, it } from "vitest";
import { systemClock } from "../election/clock.js";
import { HoldfastError } from "../errors.js";
import type { DeadLetter, LaneRow, QueueBook, RedriveOrder } from "../store/queue-contract.js";
import { Appender } from "./appender.js";
import type { Lane } from "./core/lane.js";
import { LaneTable } from "./lane-table.js";
import { Redriving } from "./redriving.js";
import type { QueueTermParts } from "./term-parts.js";

function rowOf(id: number, lane: string): LaneRow {
  const head = { attempts: 0, reclaims: 0, waitMs: 0, paused: false, blocked: false, lastError: null };
  return { id, stage: "in", lane, done: 5, tail: 5, ...head };
}

function letterOf(id: string, lane: string, redrivenAt: number | null = null): DeadLetter {
  const gone = { reason: "boom", attempts: 1, reclaims: 0, diedAt: 0, redrivenAt, redrivenTo: null };
  return { id, stage: "in", lane, position: 1, key: null, headers: null, ...gone };
}

/** The leader's side, with a book that answers as the test says. */
class Desk {
  readonly table = new LaneTable(() => 0);
  readonly orders: RedriveOrder[] = [];
  readonly term = new AbortController();
  letters: DeadLetter[] = [letterOf("1", "x"), letterOf("2", "y"), letterOf("3", "x")];
  answer: (order: RedriveOrder) => Promise<readonly string[]> = async ({ letters }) =>
    await Promise.resolve(letters.map(({ id }) => id));
  freed = 0;
  readonly appender: Appender;
  readonly redriving: Redriving;

  constructor() {
    for (const [index, name] of ["x", "y"].entries()) this.table.load(rowOf(index + 1, name));
    const book: Pick<QueueBook, "letters" | "redrive"> = {
      letters: async (_queue, { ids = [] }) => await Promise.resolve(this.letters.filter(({ id }) => ids.includes(id))),
      redrive: async (_fence, order) => {
        this.orders.push(order);
        return await this.answer(order);
      },
    };
    const settings = { name: "orders", stages: ["in"] };
    const parts = { book, settings, clock: systemClock, signal: this.term.signal } as unknown as QueueTermParts;
    this.appender = new Appender(parts, this.table, 7);
    this.redriving = new Redriving(parts, this.table, this.appender, () => {
      this.freed += 1;
    });
  }

  lane(name: string): Lane {
    return this.table.find("in", name) as Lane;
  }
}

const unknown = async (): Promise<never> => await Promise.reject(new HoldfastError("UNKNOWN_OUTCOME", "lost"));

describe("redriving", () => {
  it("gives each letter the next place of its own lane, in the order in which they died", async () => {
    const desk = new Desk();
    expect(await desk.redriving.redrive(["3", "1", "2"])).toEqual([
      { id: "1", stage: "in", lane: "x", position: 6 },
      { id: "2", stage: "in", lane: "y", position: 6 },
      { id: "3", stage: "in", lane: "x", position: 7 },
    ]);
    expect([desk.lane("x").tail, desk.lane("y").tail]).toEqual([7, 6]);
    expect(desk.lane("x").appending).toBe(false);
    expect(desk.freed).toBe(1);
  });

  it("holds its lanes until their outcome is known, and asks for it again with the same places", async () => {
    const desk = new Desk();
    let asked = 0;
    desk.answer = async ({ letters }) => {
      expect([desk.lane("x").appending, desk.lane("y").appending]).toEqual([true, true]);
      asked += 1;
      return asked < 3 ? await unknown() : letters.map(({ id }) => id);
    };
    await desk.redriving.redrive(["1", "2"]);
    expect(desk.orders).toHaveLength(3);
    expect(new Set(desk.orders.map((order) => JSON.stringify(order))).size).toBe(1);
    expect(desk.lane("x").tail).toBe(6);
  });

  it("waits for the append that is under way, and comes before the next one", async () => {
    const desk = new Desk();
    desk.lane("x").appending = true;
    const redriven = desk.redriving.redrive(["1", "2"]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(desk.orders).toEqual([]);
    expect(desk.lane("y").appending).toBe(true);
    Object.assign(desk.lane("x"), { appending: false, tail: 9 });
    desk.redriving.nudge();
    expect(desk.lane("x").appending).toBe(true);
    expect(await redriven).toMatchObject([{ position: 10 }, { position: 6 }]);
  });

  it("lets its lanes go when it is refused, and nothing has a place", async () => {
    const desk = new Desk();
    desk.answer = async () => await Promise.reject(new HoldfastError("DATABASE_REFUSED", "no"));
    await expect(desk.redriving.redrive(["1"])).rejects.toMatchObject({ code: "DATABASE_REFUSED" });
    desk.answer = async () => await Promise.resolve([]);
    await expect(desk.redriving.redrive(["1"])).rejects.toMatchObject({ code: "REFUSED" });
    expect(desk.lane("x")).toMatchObject({ appending: false, tail: 5 });
    expect(desk.freed).toBe(2);
  });

  it("leaves its lanes to whoever reads them again, where an unknown outcome was refused afterwards", async () => {
    const desk = new Desk();
    let asked = 0;
    desk.answer = async () => {
      asked += 1;
      return asked === 1 ? await unknown() : await Promise.reject(new HoldfastError("DATABASE_REFUSED", "no"));
    };
    await expect(desk.redriving.redrive(["1"])).rejects.toMatchObject({ code: "UNKNOWN_OUTCOME" });
    expect([desk.lane("x").appending, desk.lane("y").appending]).toEqual([true, false]);
    expect(desk.appender.doubts()).toEqual([desk.lane("x")]);
  });

  it("refuses what is not there, was redriven before, or has no stage any more, before anything is held", async () => {
    const desk = new Desk();
    const at = Date.UTC(2026, 0, 2, 3, 4, 5);
    desk.letters.push(letterOf("4", "x", at), { ...letterOf("5", "x"), stage: "gone" });
    const refusal = async (...ids: readonly string[]) =>
      await desk.redriving
        .redrive(ids)
        .catch((error: unknown) => `${(error as HoldfastError).code} ${(error as HoldfastError).message}`);
    expect(await refusal("1", "8", "9")).toBe('NOT_FOUND Queue "orders" has no dead letter 8, 9.');
    expect(await refusal("1", "4")).toContain("REFUSED Dead letter 4 was redriven at 2026-01-02T03:04:05.000Z");
    expect(await refusal("5")).toContain('stage "gone"');
    expect(desk.orders).toEqual([]);
    expect(desk.lane("x").appending).toBe(false);
  });

  it("ends with the term: neither waiting for a lane nor for an outcome", async () => {
    const desk = new Desk();
    desk.lane("x").appending = true;
    const waiting = desk.redriving.redrive(["1", "2"]);
    await new Promise((resolve) => setImmediate(resolve));
    desk.term.abort();
    await expect(waiting).rejects.toMatchObject({ code: "NOT_LEADER" });
    expect([desk.lane("x").appending, desk.lane("y").appending]).toEqual([true, false]);
    const other = new Desk();
    other.answer = unknown;
    const asking = other.redriving.redrive(["1"]);
    await expect.poll(() => other.orders.length).toBeGreaterThan(0);
    other.term.abort();
    await expect(asking).rejects.toMatchObject({ code: "UNKNOWN_OUTCOME" });
    await other.redriving.ended();
  });
});
