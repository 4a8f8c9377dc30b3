import { describe, expect, it } from "vitest";
import { gapsOf, leaderless } from "./leaderless.js";
import { type AnyTold, fault, foundBy, made } from "./made-history.js";

const places: readonly AnyTold[] = ["a-1", "b-1", "c-1"].map((by) => ({ kind: "process", by, at: 1 }));
const run: AnyTold = { kind: "run", at: 0, longestGapMs: 3_000 };
const found = (...told: readonly AnyTold[]) => foundBy(leaderless, run, ...places, ...told);
const open = (at: number, more: { readonly by?: string; readonly epoch?: string } = {}): AnyTold => ({
  kind: "gate",
  at,
  ...more,
});
const next = { by: "b-1", epoch: "2" };

describe("a role", () => {
  it("is led again in time", () => {
    expect(found(open(100), ...fault("kill", 150, 150), open(2_900, next))).toBe("");
  });

  it("is led by nobody for too long", () => {
    const told = found(open(100), ...fault("kill", 150, 150), open(4_000, next));
    expect(told).toContain("r was led by nobody for 3900 ms, 3850 ms of it without a reason");
  });

  it("is never led again", () => {
    expect(found(open(100), ...fault("kill", 150, 150), { kind: "rejection", at: 9_000 })).toContain("8900 ms");
  });

  it("needs no leader while the database is away, and has one in time afterwards", () => {
    const outage = fault("restart_fast", 200, 8_000, { on: "database" });
    expect(found(open(100), ...outage, open(10_500, next))).toBe("");
    expect(found(open(100), ...outage, open(11_500, next))).toContain("3500 ms of it without a reason");
  });

  it("needs none while every place is hit, but does while one is whole", () => {
    const hit = (place: string, number: number) => fault("partition", 200, 8_000, { on: place, number });
    expect(found(open(100), ...hit("a", 1), ...hit("b", 2), ...hit("c-1", 3), open(9_000, next))).toBe("");
    expect(found(open(100), ...hit("a", 1), ...hit("b", 2), open(9_000, next))).toContain("7800 ms of it");
  });

  it("is not excused by a flood", () => {
    expect(found(open(100), ...fault("flood", 200, 5_000), open(5_001, next))).toContain("without a reason");
  });

  it("is not excused by one fault after another, each of which costs a lease at the most", () => {
    const faults = (count: number) =>
      Array.from({ length: count }, (_, index) => {
        const at = 200 + index * 2_500;
        return fault("terminate_listener", at, at + 10, { on: "c-1", number: index + 1 });
      }).flat();
    expect(found(open(100), ...faults(2), open(5_200, next))).toBe("");
    expect(found(open(100), ...faults(10), open(25_000, next))).toContain("in parts, with 10 faults; 23000 ms are");
  });

  it("may be left alone when all are told to stop", () => {
    const stop: AnyTold = { kind: "process", what: "ended", at: 1_000 };
    expect(found(open(100), ...fault("kill", 150, 160), open(900, next), stop, { kind: "rejection", at: 9_000 })).toBe(
      "",
    );
  });

  it("was without a leader for so long, for the report", () => {
    const gaps = gapsOf(
      made(run, ...places, open(100), ...fault("kill", 150, 150), open(1_000, next), open(1_100, next)),
    );
    expect(gaps).toMatchObject([{ role: "r", from: 100, to: 1_000 }]);
  });
});
