import { describe, expect, it } from "vitest";
import { formatAgo, formatBytes, formatCount, formatDuration, formatGap, formatTime, formatUtc } from "./format.js";

describe("a duration", () => {
  it.each([
    [0, "0 ms"],
    [0.84, "0.8 ms"],
    [9.96, "10 ms"],
    [412.4, "412 ms"],
    [999.6, "1.0 s"],
    [3_240, "3.2 s"],
    [9_960, "10 s"],
    [59_600, "1 m 00 s"],
    [304_000, "5 m 04 s"],
    [3_599_600, "1 h 00 m"],
    [7_860_000, "2 h 11 m"],
    [273_600_000, "3 d 4 h"],
    [-1_500, "−1.5 s"],
    [Number.NaN, "–"],
  ])("of %d ms is read as %s", (ms, said) => {
    expect(formatDuration(ms)).toBe(said);
  });
});

describe("a gap", () => {
  it.each([
    [2.439, "2.4 ms"],
    [99.94, "99.9 ms"],
    [512.4, "512 ms"],
    [61_350.2, "61\u202f350 ms"],
    [1_204_000, "1\u202f204\u202f000 ms"],
  ])("of %d ms keeps its milliseconds: %s", (ms, said) => {
    expect(formatGap(ms)).toBe(said);
  });
});

describe("an age", () => {
  it.each([
    [-500, "just now"],
    [1_400, "just now"],
    [42_000, "42 s ago"],
    [59_600, "1 min ago"],
    [5_400_000, "2 h ago"],
    [172_800_000, "2 d ago"],
  ])("of %d ms is read as %s", (ms, said) => {
    expect(formatAgo(ms)).toBe(said);
  });
});

describe("a time", () => {
  const noon = new Date(2026, 10, 15, 12, 4, 9, 45).getTime();

  it("is local, and names its day only where it is not today's", () => {
    expect(formatTime(noon, noon + 60_000)).toBe("12:04:09");
    expect(formatTime(noon, noon + 60_000, true)).toBe("12:04:09.045");
    expect(formatTime(noon, noon + 86_400_000)).toBe("2026-11-15 12:04:09");
  });

  it("is told in UTC too", () => {
    expect(formatUtc(Date.UTC(2026, 10, 15, 17, 4, 9, 5))).toBe("2026-11-15 17:04:09.005 UTC");
  });
});

it("counts and sizes are grouped, and not rounded away", () => {
  expect(formatCount(1_204_003)).toBe("1\u202f204\u202f003");
  expect([812, 1_234, 48_000, 2_345_678].map(formatBytes)).toEqual(["812 B", "1.2 kB", "48 kB", "2.3 MB"]);
});
