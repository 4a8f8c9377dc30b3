import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { carefulUntil, hasWork, isLastChance, isSuspect, type Lane, sharesOf } from "./lane.js";

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

const sampleLane = fc.sample(lanes, 1)[0] as Lane;

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
        expect(sharesOf([careful], batch, count)).toEqual([1]);
        expect(sharesOf([{ ...careful, done: lane.done + batch - 1 }], batch, count)).toEqual([1]);
      }),
    );
  });

  it("gets its share of a claim: one message at least, and lanes are taken in turn until the claim has its size", () => {
    fc.assert(
      fc.property(fc.array(lanes, { minLength: 1, maxLength: 50 }), sizes, sizes, (ready, batch, atOnce) => {
        const shares = sharesOf(ready, batch, atOnce);
        const found = shares.map((share, index) => {
          const { tail = 0, done = 0 } = ready[index] ?? {};
          return Math.min(share, tail - done);
        });
        const claimed = found.reduce((sum, count) => sum + count, 0);
        expect(shares.every((share) => share >= 1 && share <= batch)).toBe(true);
        // Nothing is taken that is not needed, and nothing is left that would have had room.
        expect(claimed - (found.at(-1) ?? 0)).toBeLessThan(batch);
        if (shares.length < ready.length) expect(claimed).toBeGreaterThanOrEqual(batch);
      }),
    );
  });

  it("is claimed whole where it is alone, and in equal shares where many are worked on at a time", () => {
    const lane: Lane = { ...sampleLane, done: 0, tail: 10_000, carefulUntil: 0 };
    expect(sharesOf([lane], 500, 16)).toEqual([500]);
    expect(
      sharesOf(
        Array.from({ length: 32 }, () => lane),
        500,
        16,
      ),
    ).toEqual(Array.from({ length: 17 }, () => 31));
    expect(sharesOf([lane, lane], 1, 16)).toEqual([1]);
  });
});
