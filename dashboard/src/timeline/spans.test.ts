import { describe, expect, it } from "vitest";
import type { RoleLeader, Transition } from "../api/cluster.js";
import { spansOf } from "./spans.js";

const role = "scheduler";
const now = 200_000;

let lastId = 0;
function elected(node: string, at: number, epoch: number, more: Partial<Transition> = {}): Transition {
  lastId += 1;
  return {
    id: String(lastId),
    role,
    epoch,
    event: "elected",
    reason: "evidence",
    node_id: node,
    previous_node_id: null,
    gap_seconds: 0,
    at,
    ...more,
  };
}

function released(node: string, at: number, epoch: number): Transition {
  return elected(node, at, epoch, {
    event: "released",
    reason: "stepped_down",
    previous_node_id: node,
    gap_seconds: null,
  });
}

function led(leader: string | null, epoch: number, acquired: number | null = null): RoleLeader {
  return {
    role,
    leader_id: leader,
    leader_url: null,
    leader_epoch: epoch,
    acquired_at: acquired,
    lease_expires_at: leader === null ? null : 205,
    lease_remaining_seconds: leader === null ? 0 : 5,
    tenure_seconds: null,
  };
}

/** The history comes newest first. */
function rowOf(history: readonly Transition[], leader: RoleLeader, leaderlessSince?: number) {
  const since = leaderlessSince === undefined ? {} : { [role]: leaderlessSince };
  return spansOf(history.toReversed(), [leader], since, now)[0]?.spans;
}

describe("the row of a role", () => {
  it("is one term while its first leader leads, and the first election ends no gap", () => {
    expect(rowOf([elected("a", 100, 1, { reason: "first" })], led("a", 1, 100))).toEqual([
      { kind: "term", node: "a", epoch: 1, from: 100_000, to: now, open: true },
    ]);
  });

  it("has the gap of a crash before the election that ended it", () => {
    const history = [
      elected("a", 100, 1, { reason: "first" }),
      elected("b", 150, 2, { previous_node_id: "a", gap_seconds: 0.025 }),
    ];
    expect(rowOf(history, led("b", 2, 150))).toEqual([
      { kind: "term", node: "a", epoch: 1, from: 100_000, to: 149_975, open: false },
      {
        kind: "gap",
        from: 149_975,
        to: 150_000,
        open: false,
        reason: "evidence",
        before: "a",
        after: "b",
        lengthMs: 25,
      },
      { kind: "term", node: "b", epoch: 2, from: 150_000, to: now, open: true },
    ]);
  });

  it("says of a handover why the leader gave up, and who that was", () => {
    const history = [
      elected("a", 100, 1, { reason: "first" }),
      released("a", 149.99, 1),
      elected("b", 150, 2, { reason: "released", gap_seconds: 0.01 }),
    ];
    expect(rowOf(history, led("b", 2, 150))?.[1]).toMatchObject({
      kind: "gap",
      from: 149_990,
      to: 150_000,
      reason: "stepped_down",
      before: "a",
      after: "b",
      lengthMs: 10,
    });
  });

  it("begins with the leader before the oldest change that is known", () => {
    const [first] = rowOf([elected("b", 150, 7, { previous_node_id: "a", gap_seconds: 0.5 })], led("b", 7, 150)) ?? [];
    expect(first).toEqual({
      kind: "term",
      node: "a",
      epoch: 6,
      from: Number.NEGATIVE_INFINITY,
      to: 149_500,
      open: false,
    });
  });

  it("shows who leads where nothing of the history is known", () => {
    expect(rowOf([], led("c", 40, 120))).toEqual([
      { kind: "term", node: "c", epoch: 40, from: 120_000, to: now, open: true },
    ]);
  });

  it("shows a new leader at once, before the history has told of it", () => {
    const spans = rowOf([elected("a", 100, 1, { reason: "first" })], led("b", 2, 190));
    expect(spans).toEqual([
      { kind: "term", node: "a", epoch: 1, from: 100_000, to: 190_000, open: false },
      { kind: "term", node: "b", epoch: 2, from: 190_000, to: now, open: true },
    ]);
  });

  it("ends in an open gap while nobody leads, from the end of the lease on", () => {
    const spans = rowOf([elected("a", 100, 1, { reason: "first" })], led(null, 1), 195);
    expect(spans?.[0]).toMatchObject({ kind: "term", node: "a", to: 195_000, open: false });
    expect(spans?.[1]).toEqual({
      kind: "gap",
      from: 195_000,
      to: now,
      open: true,
      reason: "expired",
      before: "a",
      after: null,
      lengthMs: 5000,
    });
  });

  it("ends in an open gap from a release on, with its reason", () => {
    const history = [elected("a", 100, 1, { reason: "first" }), released("a", 180, 1)];
    expect(rowOf(history, led(null, 1))?.at(-1)).toMatchObject({
      kind: "gap",
      from: 180_000,
      open: true,
      reason: "stepped_down",
    });
  });

  it("is empty where nobody has ever led", () => {
    expect(rowOf([], led(null, 0))).toEqual([]);
  });

  it("never runs backwards, though the clock was stepped back", () => {
    const history = [
      elected("a", 150, 1, { reason: "first" }),
      elected("b", 140, 2, { previous_node_id: "a", gap_seconds: 1 }),
    ];
    for (const { from, to } of rowOf(history, led("b", 2, 140)) ?? []) expect(to).toBeGreaterThanOrEqual(from);
  });

  it("stands for one role each, in the order of their names", () => {
    const history = [elected("a", 100, 1, { role: "zeta" }), elected("a", 100, 1, { role: "alpha" })];
    expect(spansOf(history, [led("b", 1, 120)], {}, now).map((row) => row.role)).toEqual([
      "alpha",
      "scheduler",
      "zeta",
    ]);
  });
});
