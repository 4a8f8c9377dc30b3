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
    expect(found(...failover, lost, { kind: "stream", id: "g-2", at: 300 }, ...heard(3))).toBe("");
    const before: AnyTold = { kind: "stream", id: "f-1", at: 10 };
    const anew: AnyTold = { kind: "stream", id: "g-2", what: "reset", at: 300 };
    expect(found(...failover, before, lost, anew, ...heard(3))).toBe("");
    const late: AnyTold = { kind: "stream", id: "f-1", at: 250 };
    expect(found(...failover, late, anew, ...heard(3))).toBe("");
    expect(found(late, anew, ...heard(3))).toContain("it was told to begin anew after f-1");
  });

  it("is told where it stands, which is no event, and has to begin anew only after a failover", () => {
    const told = (what: "hello" | "reset", id: number): AnyTold => ({ kind: "stream", id: `g-${id}`, what });
    expect(found(told("hello", 0), ...heard(1), told("hello", 1), ...heard(2, 3))).toBe("");
    expect(found(told("hello", 1), ...heard(3))).toContain("g-3 came right after g-1");
    expect(found(...heard(1), told("reset", 3))).toContain("it was told to begin anew after g-1");
  });
});
