import { describe, expect, it } from "vitest";
import { type DrillEvent, renderEvent, reportJson, Timeline } from "./timeline.js";

describe("a timeline", () => {
  it("counts from the strike, to a tenth of a millisecond", () => {
    let now = 1_000;
    const told: DrillEvent[] = [];
    const timeline = new Timeline(
      (event) => told.push(event),
      () => now,
    );
    expect(timeline.isStruck).toBe(false);
    timeline.strike("SIGKILL to node-a");
    now = 1_013.06;
    expect(timeline.add("node-b answers as leader, epoch 4 (evidence)")).toBe(13.1);
    timeline.add("seen before it was told", 1_002);
    expect(told.map(renderEvent)).toEqual([
      "      0.0 ms  SIGKILL to node-a",
      "     13.1 ms  node-b answers as leader, epoch 4 (evidence)",
      "      2.0 ms  seen before it was told",
    ]);
    expect(timeline.events).toEqual(told);
  });

  it("is the same in JSON, in snake_case", () => {
    const report = {
      kind: "crash",
      role: "scheduler",
      oldLeader: "a",
      newLeader: "b",
      oldEpoch: 3,
      newEpoch: 4,
      events: [{ atMs: 0, what: "x" }],
      databaseGapMs: 4.8,
      tookMs: 13.1,
    } as const;
    expect(reportJson(report)).toEqual({
      kind: "crash",
      role: "scheduler",
      old_leader: "a",
      new_leader: "b",
      old_epoch: 3,
      new_epoch: 4,
      events: [{ at_ms: 0, what: "x" }],
      database_gap_ms: 4.8,
      took_ms: 13.1,
    });
  });
});
