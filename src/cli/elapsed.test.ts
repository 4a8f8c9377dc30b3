import { describe, expect, it } from "vitest";
import { formatAgo, formatElapsed } from "./elapsed.js";

describe("a length of time", () => {
  it.each([
    [0, "0.0 ms"],
    [13.14, "13.1 ms"],
    [999.9, "999.9 ms"],
    [999.96, "1.0 s"],
    [3_240, "3.2 s"],
    [59_949, "59.9 s"],
    [59_960, "1 min"],
    [252_000, "4 min 12 s"],
    [3_599_700, "1 h"],
    [11_100_000, "3 h 5 min"],
    [86_399_600, "1 d"],
    [187_200_000, "2 d 4 h"],
    [-5, "0.0 ms"],
  ])("of %d ms reads %s", (ms, said) => {
    expect(formatElapsed(ms)).toBe(said);
  });
});

describe("how long ago something was", () => {
  it.each([
    [100, 100, "just now"],
    [100, 100.01, "just now"],
    [100, 100.3, "300 ms ago"],
    [100, 103.24, "3.2 s ago"],
    [100, 4_000, "1 h 5 min ago"],
    // Another machine's clock may be a little ahead.
    [101, 100, "just now"],
    [null, 100, "-"],
  ])("from %s to %d reads %s", (at, now, said) => {
    expect(formatAgo(at, now)).toBe(said);
  });
});
