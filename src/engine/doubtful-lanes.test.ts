import { describe, expect, it } from "vitest";
import { DoubtfulLanes } from "./doubtful-lanes.js";

const lane = { stage: "routed", lane: "adt-in/to-lab" };

describe("messages that a leader may have gone down with", () => {
  it("are those that its lane could have had in flight, and none behind them", () => {
    const doubtful = new DoubtfulLanes();
    doubtful.read([{ ...lane, done: 10, reclaims: 1 }]);
    expect(doubtful.has({ ...lane, position: 11 })).toBe(true);
    expect(doubtful.has({ ...lane, position: 510 })).toBe(true);
    expect(doubtful.has({ ...lane, position: 511 })).toBe(false);
    expect(doubtful.has({ stage: "ingress", lane: "adt-in/to-lab", position: 11 })).toBe(false);
  });

  it("are none where all ended well", () => {
    const doubtful = new DoubtfulLanes();
    doubtful.read([{ ...lane, done: 10, reclaims: 1 }]);
    doubtful.read([{ ...lane, done: 10, reclaims: 0 }]);
    expect(doubtful.has({ ...lane, position: 11 })).toBe(false);
  });
});
