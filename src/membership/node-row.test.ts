import fc from "fast-check";
import { expect, it } from "vitest";
import { countByStatus, loadOf, nodeStatuses, parseNodeStatus, statusNow } from "./node-row.js";

it("a status that is not known reads as dead, and known ones as themselves", () => {
  for (const status of nodeStatuses) expect(parseNodeStatus(status)).toBe(status);
  fc.assert(
    fc.property(
      fc.string().filter((text) => !(nodeStatuses as readonly string[]).includes(text)),
      (text) => {
        expect(parseNodeStatus(text)).toBe("dead");
      },
    ),
  );
});

it("whoever is silent for longer than a node timeout is dead, whatever the row says, unless it left", () => {
  for (const status of nodeStatuses) {
    expect(statusNow({ status, heartbeatAgeMs: 5_001 }, 5_000)).toBe(status === "left" ? "left" : "dead");
    expect(statusNow({ status, heartbeatAgeMs: 5_000 }, 5_000)).toBe(status);
  }
});

it("load is the mean of processor and memory, from 0 to 1", () => {
  expect(loadOf({ cpuUsage: 0.5, memoryUsage: 0.25 })).toBe(0.375);
  expect(loadOf({ cpuUsage: 3, memoryUsage: 2 })).toBe(1);
});

it("counts have every status", () => {
  expect(countByStatus([{ status: "active" }, { status: "active" }, { status: "left" }])).toEqual({
    joining: 0,
    active: 2,
    draining: 0,
    dead: 0,
    left: 1,
  });
});
