import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clockToleranceMs, elapsedMs, type Instant } from "./trust.js";

const since: Instant = { mono: 1_000, wall: 5_000_000, boot: 9_000 };
const unread = (): number => {
  throw new Error("the clock that counts from boot was read");
};

describe("elapsed time", () => {
  it("is told by the two quick clocks while they agree, on the safe side", () => {
    expect(elapsedMs(since, 3_000, 5_002_000, unread)).toBe(2_000);
    expect(elapsedMs(since, 3_000, 5_002_030, unread)).toBe(2_030);
    expect(elapsedMs(since, 3_030, 5_002_000, unread)).toBe(2_030);
  });

  it("takes no notice of a wall clock that was stepped, by an hour, either way", () => {
    for (const jump of [3_600_000, -3_600_000])
      expect(elapsedMs(since, 3_000, 5_002_000 + jump, () => 11_000)).toBe(2_000);
  });

  it("counts a suspend, during which the monotonic clock stood still", () => {
    expect(elapsedMs(since, 1_100, 5_600_000, () => 609_000)).toBe(600_000);
  });

  it("never falls short of what the monotonic clock says", () => {
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.integer(), fc.integer({ min: 0 }), (passed, wall, boot) => {
        expect(elapsedMs(since, since.mono + passed, wall, () => boot)).toBeGreaterThanOrEqual(passed);
      }),
    );
  });

  it("asks the slow clock as soon as the quick ones differ by more than the tolerance", () => {
    expect(() => elapsedMs(since, 3_000, 5_002_000 + clockToleranceMs + 1, unread)).toThrow("was read");
  });
});
