import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { carefulUntil, hasWork, isLastChance, isSuspect, type Lane, shareOf } from "./lane.js";

const lanes = fc
  .record({
    done: fc.nat({ max: 1_000_000 }),
    waiting: fc.nat({ max: 1_000 }),
    reclaims: fc.nat({ max: 12 }),
    careful: fc.nat({ max: 1_000 }),
    paused: fc.boolean(),
    blocked: fc.boolean(),
    inFlight: fc.boolean(),
  })
  .map(
    ({ done, waiting, careful, ...held }): Lane => ({
      id: 1,
      stage: "in",
      name: "a",
      done,
      reached: done,
      tail: done + waiting,
      attempts: 0,
      carefulUntil: done + careful,
      readyAt: 0,
      appending: false,
      atRest: false,
      held: false,
      ...held,
    }),
  );
const limits = fc.integer({ min: 1, max: 1_000 });
const sizes = fc.integer({ min: 1, max: 10_000 });

describe("a lane", () => {
  it("has work where something waits in it and nobody holds it", () => {
    fc.assert(
      fc.property(lanes, (lane) => {
        const isHeld = lane.paused || lane.blocked || lane.inFlight;
        expect(hasWork(lane)).toBe(lane.tail > lane.done && !isHeld);
      }),
    );
  });

  it("is suspected before it has its last chance, whatever number of crashes is allowed", () => {
    fc.assert(
      fc.property(lanes, limits, (lane, maxReclaims) => {
        if (isLastChance(lane, maxReclaims)) expect(isSuspect(lane, maxReclaims)).toBe(true);
        expect(isLastChance(lane, maxReclaims)).toBe(lane.reclaims >= maxReclaims);
        if (lane.reclaims === 0) expect(isSuspect(lane, maxReclaims)).toBe(false);
      }),
    );
  });

  it("is not suspected after a single crash where more than one is allowed", () => {
    fc.assert(
      fc.property(lanes, fc.integer({ min: 2, max: 1_000 }), (lane, maxReclaims) => {
        expect(isSuspect({ ...lane, reclaims: 1 }, maxReclaims)).toBe(false);
      }),
    );
  });

  it("is worked on one message at a time for as long as the largest claim, once it is suspected", () => {
    fc.assert(
      fc.property(lanes, limits, sizes, sizes, (lane, maxReclaims, batch, count) => {
        const careful = { ...lane, carefulUntil: carefulUntil(lane, maxReclaims, batch) };
        expect(careful.carefulUntil).toBeGreaterThanOrEqual(lane.carefulUntil);
        if (!isSuspect(lane, maxReclaims)) return;
        expect(shareOf(careful, batch, count)).toBe(1);
        expect(shareOf({ ...careful, done: lane.done + batch - 1 }, batch, count)).toBe(1);
      }),
    );
  });

  it("gets its share of a claim: one message at least, and all shares together no more than its size", () => {
    fc.assert(
      fc.property(lanes, sizes, fc.integer({ min: 1, max: 20_000 }), (lane, batch, count) => {
        const share = shareOf({ ...lane, carefulUntil: 0 }, batch, count);
        expect(share).toBeGreaterThanOrEqual(1);
        if (count <= batch) expect(share * count).toBeLessThanOrEqual(batch);
        else expect(share).toBe(1);
      }),
    );
  });
});
