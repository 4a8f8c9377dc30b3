import { describe, expect, it } from "vitest";
import { HoldfastError, NotLeaderError } from "../errors.js";
import type { MessageRow } from "../store/engine-contract.js";
import { type ReplayedMany, Replaying } from "./replay.js";
import type { Receipt } from "./transports/transport.js";

interface Scene {
  readonly replaying: Replaying;
  /** The bodies that were taken in again, in that order. */
  readonly taken: string[];
  /** How many were under way at the same time, at the most. */
  readonly most: () => number;
}

/** Messages 1 to `count`, each with its own id as its body, and an engine that takes whatever the test lets it. */
function openScene(
  count: number,
  {
    body = (id) => Buffer.from(id),
    take = () => undefined,
    size = 10,
  }: {
    readonly body?: (id: string) => Buffer | null;
    readonly take?: (body: string) => Receipt | undefined;
    readonly size?: number;
  } = {},
): Scene {
  const taken: string[] = [];
  let [underWay, most, next] = [0, 0, 1_000];
  const rowOf = (id: string): MessageRow => ({
    id,
    receivedAt: 0,
    connection: Number(id) % 7 === 0 ? "departed" : "adt-in",
    type: "",
    controlId: "",
    size,
    replayOf: null,
    statuses: [],
  });
  const isThere = (id: string): boolean => Number(id) >= 1 && Number(id) <= count;
  const ids = Array.from({ length: count }, (_, n) => String(count - n));
  const replaying = new Replaying(
    {
      graph: { inbounds: new Map([["adt-in", {}]]), outbounds: new Map([["lab", {}]]) } as never,
      take: async (_connection, arrival) => {
        const text = arrival.body.toString();
        underWay += 1;
        most = Math.max(most, underWay);
        try {
          const decided = take(text);
          if (decided !== undefined) return decided;
          taken.push(text);
          next += 1;
          const id = String(next);
          await new Promise((resolve) => setImmediate(resolve));
          return { kind: "accepted", id, duplicate: false, malformed: null, ack: null };
        } finally {
          underWay -= 1;
        }
      },
    },
    {
      rows: async (asked) => await Promise.resolve(asked.filter(isThere).toReversed().map(rowOf)),
      bodyOf: async (id) => await Promise.resolve(body(id)),
      search: async (_filter, { limit, before }) => {
        const items = ids.filter((id) => before === undefined || Number(id) < Number(before)).slice(0, limit);
        return await Promise.resolve({
          items: items.map(rowOf),
          next: items.length < limit ? null : (items.at(-1) ?? null),
        });
      },
    },
  );
  return { replaying, taken, most: () => most };
}

const { signal: forever } = new AbortController();
const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, n) => String(from + n));
const failed = ({ outcomes }: ReplayedMany): readonly unknown[] =>
  outcomes.flatMap((one) => ("error" in one ? [[one.replayOf, one.error.code]] : []));

describe("a replay of many", () => {
  it("takes them in in the order in which they came, many by one commit, whatever order they are named in", async () => {
    const { replaying, taken, most } = openScene(6);
    const { outcomes, left } = await replaying.replayAll(["5", "2", "6", "1", "2", "3", "4"], "lab", forever);
    expect(taken).toEqual(numbers(1, 6));
    expect(outcomes).toHaveLength(6);
    expect(left).toEqual([]);
    expect(most()).toBe(6);
  });

  it("has a bound on what is in memory at a time", async () => {
    const { replaying, taken, most } = openScene(6, { size: 8 * 1_048_576 });
    await replaying.replayAll(numbers(1, 6), undefined, forever);
    expect(taken).toEqual(numbers(1, 6));
    expect(most()).toBe(4);
    const many = openScene(200);
    await many.replaying.replayAll(numbers(1, 200), undefined, forever);
    expect(many.most()).toBeLessThanOrEqual(50);
  });

  it("goes past those that cannot be replayed, and says why", async () => {
    const { replaying, taken } = openScene(9, { body: (id) => (id === "3" ? null : Buffer.from(id)) });
    const done = await replaying.replayAll(numbers(1, 10), undefined, forever);
    expect(failed(done)).toEqual([
      ["3", "GONE"],
      ["7", "REFUSED"],
      ["10", "NOT_FOUND"],
    ]);
    expect(taken).toEqual(["1", "2", "4", "5", "6", "8", "9"]);
  });

  it("ends where one fails in a way that would fail the next, and names those that were not tried", async () => {
    const busy = { kind: "refused", reason: "connect ECONNREFUSED 10.1.2.3:5432", retry: true } as const;
    const { replaying } = openScene(60, { take: (text) => (text === "55" ? busy : undefined) });
    const done = await replaying.replayAll([...numbers(1, 6), ...numbers(50, 60)], undefined, forever);
    expect(failed(done)).toEqual([
      ["55", "TOO_BUSY"],
      ["56", "REFUSED"],
    ]);
    expect(JSON.stringify(done.outcomes)).not.toContain("10.1.2.3");
    const later = openScene(120, { take: (text) => (Number(text) > 60 ? busy : undefined) });
    const stopped = await later.replaying.replayAll(numbers(1, 120), undefined, forever);
    expect(stopped.left).toEqual(numbers(101, 120));
  });

  it("lets nothing overtake one that could not be read for a while", async () => {
    const away = new HoldfastError("DATABASE_AWAY", "away");
    const { replaying, taken } = openScene(6, {
      body: (id) => {
        if (id === "3") throw away;
        return Buffer.from(id);
      },
    });
    const done = await replaying.replayAll(numbers(1, 6), undefined, forever);
    expect(taken).toEqual(["1", "2"]);
    expect(failed(done)).toEqual([["3", "DATABASE_AWAY"]]);
    expect(done.left).toEqual(["4", "5", "6"]);
  });

  it("that cannot even begin throws, and nothing has happened", async () => {
    const { replaying } = openScene(3, {
      take: () => {
        throw new NotLeaderError("over");
      },
    });
    await expect(replaying.replayAll(numbers(1, 3), undefined, forever)).rejects.toThrow("over");
    await expect(replaying.replayAll(["1"], "nowhere", forever)).rejects.toThrow('There is no outbound "nowhere"');
  });

  it("ends when its time is up", async () => {
    const { replaying, taken } = openScene(3);
    expect(await replaying.replayAll(numbers(1, 3), undefined, AbortSignal.abort())).toEqual({
      outcomes: [],
      left: numbers(1, 3),
    });
    expect(taken).toEqual([]);
  });

  it("finds those that match page by page, up to its limit or its time", async () => {
    const { replaying } = openScene(250);
    expect(await replaying.matching({}, { limit: 1_000 }, forever)).toEqual({
      ids: numbers(1, 250).toReversed(),
      next: null,
    });
    expect(await replaying.matching({}, { limit: 120 }, forever)).toMatchObject({ next: "131" });
    expect((await replaying.matching({}, { limit: 1_000 }, AbortSignal.abort())).next).toBe("151");
    expect((await replaying.matching({}, { limit: 3, before: "10" }, forever)).ids).toEqual(["9", "8", "7"]);
  });
});
