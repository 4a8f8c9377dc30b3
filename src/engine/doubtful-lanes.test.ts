import { describe, expect, it } from "vitest";
import { DoubtfulLanes } from "./doubtful-lanes.js";

const lane = { stage: "routed", lane: "adt-in/to-lab" };

describe("messages that a leader may have gone down with", () => {
  it("are those that its lane could have had in flight, and none behind them", () => {
    const doubtful = new DoubtfulLanes();
    doubtful.read([{ ...lane, done: 10, tail: 700, reclaims: 1 }]);
    expect(doubtful.has({ ...lane, position: 11 })).toBe(true);
    expect(doubtful.has({ ...lane, position: 510 })).toBe(true);
    expect(doubtful.has({ ...lane, position: 511 })).toBe(false);
    expect(doubtful.has({ stage: "ingress", lane: "adt-in/to-lab", position: 11 })).toBe(false);
  });

  it("are none where all ended well", () => {
    const doubtful = new DoubtfulLanes();
    doubtful.read([{ ...lane, done: 10, tail: 700, reclaims: 1 }]);
    doubtful.read([{ ...lane, done: 10, tail: 700, reclaims: 0 }]);
    expect(doubtful.has({ ...lane, position: 11 })).toBe(false);
  });

  it("are also what handlers are given of those that came in, in lanes that are there and in new ones", () => {
    const doubtful = new DoubtfulLanes();
    const inbound = { stage: "ingress", lane: "adt-in", done: 40, tail: 60, reclaims: 1 };
    doubtful.read([inbound, { ...lane, done: 10, tail: 20, reclaims: 0 }]);
    const has = (stage: string, name: string, position: number) => doubtful.has({ stage, lane: name, position });
    expect([
      has("ingress", "adt-in", 41),
      has("routed", "adt-in/to-lab", 520),
      has("routed", "adt-in/new", 500),
    ]).toEqual([true, true, true]);
    expect([
      has("routed", "adt-in/to-lab", 521),
      has("routed", "adt-in/new", 501),
      has("routed", "oru-in/x", 1),
    ]).toEqual([false, false, false]);
    expect(has("routed", "adt-in/to-lab", 0)).toBe(false);
  });
});
