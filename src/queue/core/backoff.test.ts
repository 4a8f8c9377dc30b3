import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { backoffMs } from "./backoff.js";

const attempts = fc.integer({ min: 1, max: 1_000_000 });
const jitter = fc.double({ min: 0, max: 1, noNaN: true });
const pauses = fc.record({
  firstMs: fc.integer({ min: 0, max: 86_400_000 }),
  capMs: fc.integer({ min: 0, max: 2_592_000_000 }),
});

describe("the pause before the next attempt", () => {
  it("doubles from failure to failure, up to the cap", () => {
    const waits = [1, 2, 3, 4, 5, 6].map((count) => backoffMs(count, { firstMs: 1_000, capMs: 10_000 }, 0));
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  });

  it("is shortened by a fifth at most", () => {
    expect(backoffMs(3, { firstMs: 1_000, capMs: 10_000 }, 0.5)).toBe(3_600);
    expect(backoffMs(3, { firstMs: 1_000, capMs: 10_000 }, 1)).toBe(3_200);
  });

  it("is none where the first pause is none, however often it is doubled", () => {
    expect(backoffMs(1_000_000, { firstMs: 0, capMs: 10_000 }, 0)).toBe(0);
  });

  it("is a whole number of milliseconds between 0 and the cap, whatever the number of failures", () => {
    fc.assert(
      fc.property(attempts, pauses, jitter, (count, backoff, chance) => {
        const waitMs = backoffMs(count, backoff, chance);
        expect(Number.isSafeInteger(waitMs)).toBe(true);
        expect(waitMs).toBeGreaterThanOrEqual(0);
        expect(waitMs).toBeLessThanOrEqual(backoff.capMs);
      }),
    );
  });

  it("never shrinks from one failure to the next", () => {
    fc.assert(
      fc.property(attempts, pauses, jitter, (count, backoff, chance) => {
        expect(backoffMs(count + 1, backoff, chance)).toBeGreaterThanOrEqual(backoffMs(count, backoff, chance));
      }),
    );
  });

  it("lies within a fifth of the pause without chance", () => {
    fc.assert(
      fc.property(attempts, pauses, jitter, (count, backoff, chance) => {
        const full = backoffMs(count, backoff, 0);
        const waitMs = backoffMs(count, backoff, chance);
        expect(waitMs).toBeLessThanOrEqual(full);
        expect(waitMs).toBeGreaterThanOrEqual(Math.floor(full * 0.8));
      }),
    );
  });

  it("is exactly twice the last one until the cap is reached", () => {
    const below = fc.record({ firstMs: fc.integer({ min: 1, max: 1_000 }), doublings: fc.nat({ max: 20 }) });
    fc.assert(
      fc.property(below, ({ firstMs, doublings }) => {
        const capMs = firstMs * 2 ** 21;
        const last = backoffMs(doublings + 1, { firstMs, capMs }, 0);
        expect(backoffMs(doublings + 2, { firstMs, capMs }, 0)).toBe(last * 2);
      }),
    );
  });
});
