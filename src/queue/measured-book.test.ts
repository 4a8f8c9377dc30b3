import { describe, expect, it } from "vitest";
import { systemClock } from "../election/clock.js";
import type { FenceToken } from "../store/fence-token.js";
import type { QueueBook, Settlement, StoredMessage } from "../store/queue-contract.js";
import { measuredBook } from "./measured-book.js";

const fence = {} as FenceToken;
const now = 1_000_000;

function message(lane: number, position: number, ageMs: number): StoredMessage {
  return { lane, position, segment: 1, key: null, headers: null, at: now - ageMs, ageMs, body: Buffer.alloc(0) };
}

function settlement(lane: number, done: number, more: Partial<Settlement> = {}): Settlement {
  return { lane, claim: 1, done, doneSegment: null, keeps: false, head: { kind: "ready" }, ...more };
}

/** A book that hands these messages out, and what was counted of it. */
function bookOf(messages: readonly StoredMessage[]) {
  const counted = { delivered: [] as number[], dead: 0, reclaimed: 0, seconds: [] as number[] };
  let gone: readonly number[] = [];
  let failing = false;
  class Book {
    private readonly kept = "kept";
    claim = async () => await Promise.resolve(messages);
    settle = async () => await (failing ? Promise.reject(new Error("lost")) : Promise.resolve(gone));
    sweep = async () => await Promise.resolve([{}, {}]);
    recover = async () => await Promise.resolve({ segment: 1, lanes: [], reclaimed: 3, quarantined: 1 });
    async lanes() {
      return await Promise.resolve([this.kept]);
    }
  }
  const counts = {
    delivered: (count: number) => void counted.delivered.push(count),
    dead: (count: number) => {
      counted.dead += count;
    },
    reclaimed: (count: number) => {
      counted.reclaimed += count;
    },
    deliveryTimes: { observe: (seconds: number) => void counted.seconds.push(seconds) },
  };
  const clock = { ...systemClock, wall: () => now };
  return {
    book: measuredBook(new Book() as unknown as QueueBook, counts, clock),
    counted,
    lose: (lanes: readonly number[]) => {
      gone = lanes;
    },
    fail: (fails: boolean) => {
      failing = fails;
    },
  };
}

const order = { queue: "orders", claim: 1, leaseMs: 1, wishes: [] };

describe("what passes through the book of a queue", () => {
  it("is counted a batch at a time, and timed from when each message was taken in", async () => {
    const { book, counted } = bookOf([
      message(1, 4, 3_000),
      message(1, 5, 2_000),
      message(2, 1, 500),
      message(2, 2, -9),
    ]);
    await book.claim(fence, order);
    await book.settle(fence, [settlement(1, 4, { keeps: true }), settlement(2, 2)], null);
    expect(counted).toMatchObject({ delivered: [3], seconds: [3, 0.5, 0] });
    await book.settle(fence, [settlement(1, 5)], null);
    expect(counted).toMatchObject({ delivered: [3, 1], seconds: [3, 0.5, 0, 2] });
  });

  it("counts what died, and nothing for what went back", async () => {
    const { book, counted } = bookOf([message(1, 1, 0), message(2, 1, 0)]);
    await book.claim(fence, order);
    const dead = { kind: "dead", attempts: 1, error: "boom" } as const;
    const retry = { kind: "retry", attempts: 1, waitMs: 1, error: "boom" } as const;
    await book.settle(fence, [settlement(1, 0, { head: dead }), settlement(2, 0, { head: retry })], null);
    expect(counted).toMatchObject({ delivered: [], dead: 1, seconds: [] });
  });

  it("counts nothing that the database does not have", async () => {
    const { book, counted, lose, fail } = bookOf([message(1, 1, 0), message(2, 1, 0)]);
    await book.claim(fence, order);
    fail(true);
    await expect(book.settle(fence, [settlement(1, 1)], null)).rejects.toThrow("lost");
    fail(false);
    lose([2]);
    const produced = { queue: "orders", segment: 1, messages: [], waking: [] };
    await book.settle(fence, [settlement(1, 1), settlement(2, 1)], produced);
    expect(counted.delivered).toEqual([]);
    await book.settle(fence, [settlement(1, 1), settlement(2, 1)], null);
    expect(counted.delivered).toEqual([1]);
  });

  it("counts what was taken back, and leaves the rest of the book as it is", async () => {
    const { book, counted } = bookOf([]);
    await book.recover(fence, { queue: "orders", maxReclaims: 5, own: false });
    await book.sweep(fence, "orders");
    expect(counted).toMatchObject({ reclaimed: 5, dead: 1 });
    expect(await book.lanes("orders")).toEqual(["kept"]);
  });
});
