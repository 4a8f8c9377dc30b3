import { expect, test } from "vitest";
import { expectedRejections } from "./expected-rejections.js";
import { type FaultKind, faultKinds, type HistoryEvent } from "./history.js";
import { summarize } from "./summary.js";
import { summaryTable } from "./summary-table.js";

const by = "orchestrator";
const struck = (fault: FaultKind, number: number): HistoryEvent[] => [
  { by, at: number, kind: "fault", fault, number, phase: "begin", on: "a-1" },
  { by, at: number + 1, kind: "fault", fault, number, phase: "end", on: "a-1" },
];
const history: readonly HistoryEvent[] = [
  ...struck("kill", 1),
  ...struck("kill", 3).map((event) => ({ ...event, point: "in_handler" })),
  { by, at: 5, kind: "rejection", code: "NOT_LEADER" },
];
const findings = { history, impossible: [], rejections: ["NOT_LEADER"], machine: "one", violations: [] };

test("a fault counts once, however long it lasts", () => {
  expect(summarize({ ...findings, wanted: ["kill"] })).toMatchObject({
    faults: { kill: 2 },
    points: { in_handler: 1 },
    rejections: { NOT_LEADER: 1 },
    missing: [],
  });
});

test("what was wanted and did not happen is missing, unless the machine does not allow for it", () => {
  const wanted: readonly FaultKind[] = ["kill", "freeze", "disk_full"];
  const rejections = ["NOT_LEADER", "STALE_EPOCH"];
  const summary = summarize({ ...findings, wanted, rejections, impossible: ["disk_full"] });
  expect(summary.missing).toEqual(["fault freeze", "rejection STALE_EPOCH"]);
  expect(summaryTable(summary, [])).toContain("no violation, and not everything was tried");
});

test("a longer run has to have seen more, and one of a few faults less", () => {
  expect(expectedRejections(faultKinds, 10)).toContain("SINK_REFUSED");
  expect(expectedRejections(faultKinds, 2)).not.toContain("SINK_REFUSED");
  expect(expectedRejections(faultKinds, 2)).toContain("STALE_EPOCH");
  expect(expectedRejections(["kill"], 10)).toEqual(["NOT_LEADER"]);
});
