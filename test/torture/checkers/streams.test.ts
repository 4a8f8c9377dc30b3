import { describe, expect, it } from "vitest";
import { type AnyTold, fault, foundBy } from "./made-history.js";
import { streams } from "./streams.js";

const stored: readonly AnyTold[] = [1, 2, 3].map((id) => ({
  kind: "stream",
  reader: "store",
  id: `g-${id}`,
  at: 9_000,
}));
const heard = (...ids: readonly number[]): readonly AnyTold[] => ids.map((id) => ({ kind: "stream", id: `g-${id}` }));
const found = (...told: readonly AnyTold[]) => foundBy(streams, ...told, ...stored);

describe("a reader of a stream", () => {
  it("hears each event once, from wherever it began", () => {
    expect(found(...heard(1, 2, 3))).toBe("");
    expect(found(...heard(2, 3))).toBe("");
  });

  it("missed one, in between or in the end", () => {
    expect(found(...heard(1, 3))).toContain("g-3 came right after g-1");
    expect(found(...heard(1, 2))).toContain("it ended at g-2, and g-3 is there");
  });

  it("heard one twice, or in another order, or one that is nowhere", () => {
    expect(found(...heard(1, 2, 2, 3))).toContain("g-2 came again");
    expect(found(...heard(2, 1, 3))).toContain("g-1 came after g-2");
    expect(found(...heard(1, 2, 3, 4))).toContain("g-4 is not in the store");
  });

  it("may have heard of what a failover lost, and begins anew after it", () => {
    const failover = fault("database_failover", 100, 200, { lostFrom: 50 });
    const lost: AnyTold = { kind: "stream", id: "f-7", at: 60 };
    const before: AnyTold = { kind: "stream", id: "f-1", at: 10 };
    const anew: AnyTold = { kind: "stream", id: "g-2", what: "reset", at: 300 };
    expect(found(...failover, lost, anew, ...heard(3))).toBe("");
    expect(found(...failover, before, anew, ...heard(3))).toBe("");
    const late: AnyTold = { kind: "stream", id: "f-1", at: 250 };
    expect(found(...failover, late, anew, ...heard(3))).toBe("");
    const greeted: AnyTold = { ...anew, what: "hello" };
    expect(found(...failover, late, greeted, anew, ...heard(3))).toBe("");
    expect(found(late, anew, ...heard(3))).toContain("it was told to begin anew after f-1");
  });

  it("is told of another database each time that there is one, and hears of each one without a gap", () => {
    const failover = fault("database_failover", 100, 200, { lostFrom: 50 });
    const event = (id: string, at: number): AnyTold => ({ kind: "stream", id, at });
    const anew: AnyTold = { kind: "stream", id: "g-2", what: "reset", at: 300 };
    const greeted: AnyTold = { ...anew, what: "hello", at: 290 };
    const untold = "g-3 came after f-2, and nobody told of another database";
    expect(found(...failover, event("f-2", 60), event("g-3", 310))).toContain(untold);
    expect(found(...failover, event("f-2", 60), greeted, event("g-3", 310))).toContain(untold);
    const gap = [event("f-1", 40), event("f-3", 60)];
    expect(found(...failover, ...gap, anew, event("g-3", 310))).toContain("f-3 came right after f-1");
    const muchLater = [event("f-2", 60_000), { ...anew, at: 60_100 }, event("g-3", 60_110)];
    expect(found(...failover, ...muchLater)).toContain("it was told to begin anew after f-2");
    const same: AnyTold = { ...anew, id: "f-2" };
    expect(found(...failover, event("f-2", 60), same, event("f-3", 310))).toContain("to begin anew after f-2");
  });

  it("is told where it stands, which is no event, and has to begin anew only after a failover", () => {
    const told = (what: "hello" | "reset", id: number): AnyTold => ({ kind: "stream", id: `g-${id}`, what });
    expect(found(told("hello", 0), ...heard(1), told("hello", 1), ...heard(2, 3))).toBe("");
    expect(found(told("hello", 1), ...heard(3))).toContain("g-3 came right after g-1");
    expect(found(...heard(1), told("reset", 3))).toContain("it was told to begin anew after g-1");
  });
});

describe("a reader of the cluster's history", () => {
  const line = (id: number, at: number, reader = "x"): AnyTold => ({
    kind: "stream",
    stream: "cluster",
    reader,
    id: `${id}`,
    at,
  });
  const cameBack = (at: number): AnyTold => ({ ...line(0, at), what: "hello" }) as AnyTold;
  const inStore = [1, 2, 3].map((id) => line(id, 90_000, "store"));
  const told = (...events: readonly AnyTold[]) => foundBy(streams, ...events, ...inStore);

  it("hears each line once, at times a later one first", () => {
    expect(told(line(1, 10), line(2, 20), line(3, 30))).toBe("");
    expect(told(line(1, 10), line(3, 20), line(2, 30))).toBe("");
    expect(told(line(1, 10), line(2, 20), line(2, 25), line(3, 30))).toContain("2 came again");
    expect(told(line(1, 10), line(2, 20), line(3, 30), line(9, 40))).toContain("9 is not in the store");
  });

  it("misses none while it stays, nor while it is away, but for one that was overtaken just then", () => {
    expect(told(line(1, 10), line(3, 30))).toContain("3 came, and 2 never did");
    expect(told(line(1, 10), line(2, 30))).toContain("it ended at 2, and 3 is there");
    expect(told(line(1, 10), cameBack(20), line(3, 30))).toContain("3 came, and 2 never did");
    expect(told(line(1, 10), line(3, 30), cameBack(100))).toBe("");
    expect(told(line(1, 10), line(3, 30), cameBack(60_000))).toContain("2 never did");
  });

  it("was there to be heard where another had heard of it long before", () => {
    const other = (twoAt: number) => [line(1, 10, "y"), line(2, twoAt, "y"), line(3, 9_000, "y")];
    const missed = [line(1, 10), line(3, 9_000), cameBack(9_100)];
    expect(told(...other(8_900), ...missed)).toBe("");
    expect(told(...other(20), ...missed)).toContain("x: 3 came, and 2 never did");
  });

  it("may miss what a failover has lost", () => {
    const failover = fault("database_failover", 15, 25, { lostFrom: 12 });
    expect(told(line(1, 10), ...failover, line(3, 30))).toBe("");
    const invented = told(line(1, 10), ...failover, line(2, 30), line(3, 40), line(9, 50));
    expect(invented).toContain("9 is not in the store");
  });
});
