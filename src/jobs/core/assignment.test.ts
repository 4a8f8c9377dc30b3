import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assign, type Candidate, compareLoads } from "./assignment.js";
import { type Demand, suits } from "./job.js";

const demand = (rest: Partial<Demand> = {}): Demand => ({
  namespace: "default",
  capabilities: [],
  pinnedAgent: null,
  ...rest,
});

const candidate = (agent: string, rest: Partial<Candidate> = {}): Candidate => ({
  agent,
  namespace: "default",
  capabilities: [],
  room: 4,
  load: { running: 0, places: 4 },
  ...rest,
});

const given = (demands: readonly Demand[], candidates: readonly Candidate[]): Readonly<Record<string, number>> =>
  Object.fromEntries([...assign(demands, candidates)].map(([place, jobs]) => [candidates[place]?.agent ?? "", jobs]));

describe("assignment", () => {
  it("gives a job to the least loaded, and among equals to whoever has waited longest", () => {
    const busy = candidate("busy", { load: { running: 2, places: 4 } });
    expect(given([demand()], [busy, candidate("one"), candidate("two")])).toEqual({ one: 1 });
  });

  it("counts what it has just given, so that jobs which come together are spread", () => {
    const jobs = Array.from({ length: 6 }, () => demand());
    expect(given(jobs, [candidate("one"), candidate("two")])).toEqual({ one: 3, two: 3 });
    expect(given(jobs, [candidate("one", { load: { running: 0, places: 8 } }), candidate("two")])).toEqual({
      one: 4,
      two: 2,
    });
  });

  it("asks a last resort only where nobody else has room", () => {
    const last = candidate("last", { load: { running: 0, places: 4, isLastResort: true } });
    const full = candidate("other", { room: 1, load: { running: 3, places: 4 } });
    expect(given([demand()], [last, full])).toEqual({ other: 1 });
    expect(given([demand(), demand()], [last, full])).toEqual({ other: 1, last: 1 });
  });

  it("gives nothing to whom it does not suit", () => {
    const able = candidate("able", { capabilities: ["gpu"], load: { running: 3, places: 4 } });
    expect(given([demand({ capabilities: ["gpu"] })], [candidate("one"), able])).toEqual({ able: 1 });
    expect(given([demand({ pinnedAgent: "gone" })], [candidate("one")])).toEqual({});
  });

  const name = fc.constantFrom("a", "b", "c");
  const demands = fc.array(
    fc.record({
      namespace: name,
      capabilities: fc.uniqueArray(name, { maxLength: 2 }),
      pinnedAgent: fc.option(name, { nil: null }),
    }),
    { maxLength: 30 },
  );
  const candidates = fc.array(
    fc.record({
      agent: name,
      namespace: name,
      capabilities: fc.uniqueArray(name, { maxLength: 3 }),
      room: fc.integer({ min: 1, max: 5 }),
      load: fc.record({ running: fc.integer({ min: 0, max: 9 }), places: fc.integer({ min: 1, max: 9 }) }),
    }),
    { maxLength: 12 },
  );

  it("never gives more than there is room for, nor more than there is", () => {
    fc.assert(
      fc.property(demands, candidates, (jobs, waiting) => {
        const shares = [...assign(jobs, waiting)];
        for (const [place, share] of shares) {
          const who = waiting[place] as Candidate;
          expect(share).toBeLessThanOrEqual(who.room);
          expect(share).toBeLessThanOrEqual(jobs.filter((job) => suits(job, who)).length);
        }
        expect(shares.reduce((sum, [, share]) => sum + share, 0)).toBeLessThanOrEqual(jobs.length);
      }),
    );
  });

  it("leaves no job of a single kind to nobody while somebody whom it suits has room", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 40 }), demands, candidates, (number, [kind = demand()], waiting) => {
        const shares = assign(
          Array.from({ length: number }, () => kind),
          waiting,
        );
        const room = waiting.filter((who) => suits(kind, who)).reduce((sum, { room: free }) => sum + free, 0);
        expect([...shares.values()].reduce((sum, share) => sum + share, 0)).toBe(Math.min(number, room));
      }),
    );
  });

  it("ends with nobody a whole job more loaded than another who had room for it", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), candidates, (number, some) => {
        const waiting = some.map((who) => ({ ...who, namespace: "default", load: { ...who.load, running: 0 } }));
        const shares = assign(
          Array.from({ length: number }, () => demand()),
          waiting,
        );
        const loadOf = (place: number, extra: number): number =>
          ((shares.get(place) ?? 0) + extra) / (waiting[place]?.load.places ?? 1);
        const withRoom = [...waiting.keys()].filter((place) => (shares.get(place) ?? 0) < (waiting[place]?.room ?? 0));
        const least = Math.min(...withRoom.map((place) => loadOf(place, 0)));
        const unfair = [...shares.keys()].filter((place) => loadOf(place, -1) > least);
        expect(unfair).toEqual([]);
      }),
    );
  });

  it("orders loads in one way only", () => {
    const load = fc.record({
      running: fc.integer({ min: 0, max: 9 }),
      places: fc.integer({ min: 1, max: 9 }),
      isLastResort: fc.boolean(),
    });
    fc.assert(
      fc.property(load, load, load, (a, b, c) => {
        expect(Math.sign(compareLoads(a, b)) + Math.sign(compareLoads(b, a))).toBe(0);
        if (compareLoads(a, b) <= 0 && compareLoads(b, c) <= 0) expect(compareLoads(a, c)).toBeLessThanOrEqual(0);
      }),
    );
  });
});
