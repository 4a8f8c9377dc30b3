import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { afterTrip, type Route, routeBackoff, routeOf, type Trip } from "./route.js";

const a = "http://a:7400";
const b = "http://b:7400";
const c = "http://c:7400";
const told = "http://told:7400";

const go = (route: Route, trip: Trip, now = 0, turn = route.turn): Route =>
  afterTrip(route, { turn, trip, now, jitter: 0 });
const redirected = (to: string | null): Trip => ({ kind: "redirected", to });
const failed: Trip = { kind: "failed" };
const served: Trip = { kind: "served" };

describe("the way to the leader", () => {
  it("begins at the first address that was given, without a rest", () => {
    expect(routeOf([a, b])).toMatchObject({ at: a, restUntil: 0, failures: 0 });
  });

  it("follows a hint at once, and only one: two who name each other are asked ever less often", () => {
    const first = go(routeOf([a, b]), redirected(b), 1_000);
    expect(first).toMatchObject({ at: b, restUntil: 1_000 });
    const second = go(first, redirected(a), 1_010);
    expect(second).toMatchObject({ at: a, restUntil: 1_110 });
    expect(go(second, redirected(b), 1_110)).toMatchObject({ at: b, restUntil: 1_310 });
  });

  it("may follow at once again after somebody has served", () => {
    const there = go(go(routeOf([a]), redirected(b), 1_000), served, 1_005);
    expect(there).toMatchObject({ at: b, failures: 0 });
    expect(go(there, redirected(c), 2_000)).toMatchObject({ at: c, restUntil: 2_000 });
  });

  it("goes through all that is known when nobody serves, also through those that it was only told of", () => {
    let route = go(go(routeOf([a, b]), redirected(told)), served);
    const visited: string[] = [];
    for (let step = 0; step < 4; step += 1) {
      route = go(route, failed);
      visited.push(route.at);
    }
    expect(visited).toEqual([a, b, told, a]);
  });

  it("goes on where a node names nobody, or itself", () => {
    expect(go(routeOf([a, b]), redirected(null), 100)).toMatchObject({ at: b, restUntil: 150 });
    expect(go(routeOf([a, b]), redirected(a), 100)).toMatchObject({ at: b, restUntil: 150 });
  });

  it("is not changed by what was asked before it changed", () => {
    const start = routeOf([a, b]);
    const moved = go(start, failed, 100);
    expect(go(moved, failed, 101, start.turn)).toBe(moved);
    expect(go(moved, redirected(c), 101, start.turn)).toBe(moved);
    expect(go(moved, served, 101, start.turn)).toBe(moved);
  });

  const seeds = fc.constantFrom<[string, ...string[]]>([a], [a, b], [a, b, c]);
  const addresses = fc.oneof(
    fc.constantFrom(null, a, b, c, told),
    fc.nat({ max: 40 }).map((n) => `http://n${n}:1`),
  );
  const trip = fc.oneof(
    fc.constant(served),
    fc.constant(failed),
    addresses.map((to) => redirected(to)),
  );
  const travels = fc.record({
    seeds,
    trips: fc.array(trip, { maxLength: 60 }),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  });

  it("is always at an address that it was given or told, and rests no longer than the cap", () => {
    fc.assert(
      fc.property(travels, ({ seeds: given, trips, jitter }) => {
        const known = new Set<string>(given);
        let route = routeOf(given);
        for (const [now, each] of trips.entries()) {
          if (each.kind === "redirected" && each.to !== null) known.add(each.to);
          route = afterTrip(route, { turn: route.turn, trip: each, now, jitter });
          expect(known).toContain(route.at);
          expect(route.restUntil - now).toBeLessThanOrEqual(routeBackoff.capMs);
          expect(route.told.length).toBeLessThanOrEqual(8);
        }
      }),
    );
  });

  it("never turns fast: of two failures in a row at most one is followed without a rest", () => {
    fc.assert(
      fc.property(travels, ({ seeds: given, trips, jitter }) => {
        let route = routeOf(given);
        let restless = 0;
        for (const [now, each] of trips.entries()) {
          route = afterTrip(route, { turn: route.turn, trip: each, now, jitter });
          const rests = route.restUntil - now >= Math.floor(routeBackoff.firstMs * 0.8);
          restless = each.kind === "served" || rests ? 0 : restless + 1;
          expect(restless).toBeLessThanOrEqual(1);
        }
      }),
    );
  });

  it("comes to each address that was given while nobody serves", () => {
    fc.assert(
      fc.property(travels, ({ seeds: given, trips, jitter }) => {
        let route = routeOf(given);
        for (const [now, each] of trips.entries())
          route = afterTrip(route, { turn: route.turn, trip: each, now, jitter });
        const visited = new Set<string>();
        for (let step = 0; step < given.length + 9; step += 1) {
          route = go(route, failed);
          visited.add(route.at);
        }
        expect([...visited]).toEqual(expect.arrayContaining([...given]));
      }),
    );
  });
});
