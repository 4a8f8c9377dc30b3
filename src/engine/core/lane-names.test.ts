import fc from "fast-check";
import { expect, it } from "vitest";
import { connectionOf, handlerOf, outboundLane, outboundLanes, routedLane } from "./lane-names.js";

const names = fc.stringMatching(/^[a-z0-9][a-z0-9_.-]{0,20}$/);

it("a routed lane names its inbound and its handler", () => {
  fc.assert(
    fc.property(names, names, (inbound, handler) => {
      const lane = routedLane(inbound, handler);
      expect([connectionOf(lane), handlerOf(lane)]).toEqual([inbound, handler]);
    }),
  );
});

it("an outbound without keys has one lane, of its own name", () => {
  expect(outboundLane("lab", null, 8)).toBe("lab");
  expect(outboundLane("lab", "patient 7", 1)).toBe("lab");
  expect(outboundLanes("lab", 1)).toEqual(["lab"]);
});

it("the same key always has the same lane, and it is one of the outbound's", () => {
  fc.assert(
    fc.property(names, fc.string({ minLength: 1 }), fc.integer({ min: 2, max: 64 }), (outbound, key, lanes) => {
      const lane = outboundLane(outbound, key, lanes);
      expect(outboundLane(outbound, key, lanes)).toBe(lane);
      expect(outboundLanes(outbound, lanes)).toContain(lane);
      expect(connectionOf(lane)).toBe(outbound);
    }),
  );
});

it("keys spread over all lanes", () => {
  const lanes = new Set(Array.from({ length: 1_000 }, (_, n) => outboundLane("lab", `patient ${n}`, 16)));
  expect(lanes.size).toBe(16);
});

it("a key keeps its lane from version to version", () => {
  expect(outboundLane("lab", "4711", 8)).toBe("lab/2");
});
