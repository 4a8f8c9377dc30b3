import { describe, expect, it } from "vitest";
import { DrainingError, HoldfastError, NotLeaderError, StaleEpochError } from "./errors.js";
import { errorAnswer, type GuardedNode, leaderGuard, roleHeaders } from "./http.js";
import type { Posture } from "./membership/posture.js";

function nodeThat(posture: Partial<Posture> | null): GuardedNode {
  return {
    id: "a",
    posture: (role = "orders") => {
      if (posture === null) throw new HoldfastError("UNKNOWN_ROLE", `Role "${role}" is not known here.`);
      const unknown = { nodeId: "a", isLeader: false, leaderEpoch: null, leaderId: null, leaderUrl: null };
      return { ...unknown, role: "STANDBY", ...posture };
    },
  };
}

const leader = { role: "LEADER", leaderEpoch: 8n, leaderId: "a", leaderUrl: "http://a:1" } as const;
const behind = { role: "STANDBY", leaderEpoch: 8n, leaderId: "b", leaderUrl: "http://b:1" } as const;

describe("the guard", () => {
  it("says nothing on the leader", () => {
    expect(leaderGuard(nodeThat(leader), "orders")).toBeNull();
  });

  it("answers with the way to the leader elsewhere", () => {
    expect(leaderGuard(nodeThat(behind), "orders")).toEqual({
      status: 409,
      headers: {
        "x-holdfast-node": "a",
        "x-holdfast-role": "STANDBY",
        "x-holdfast-leader-epoch": "8",
        "x-holdfast-leader-id": "b",
        "cache-control": "no-store",
      },
      body: {
        error: "NOT_LEADER",
        leader_id: "b",
        leader_url: "http://b:1",
        leader_epoch: 8,
        node_id: "a",
        role: "STANDBY",
      },
    });
  });

  it.each([null, {}])("says null where the leader is not known (%j)", (posture) => {
    const answer = leaderGuard(nodeThat(posture), "orders");
    expect(answer?.body).toMatchObject({ leader_id: null, leader_url: null, leader_epoch: null });
    expect(Object.keys(answer?.headers ?? {})).not.toContain("x-holdfast-leader-id");
  });

  it("lets what only ends work pass on a leader that drains, while its gate is open", () => {
    const draining = { ...leader, role: "DRAINING" } as const;
    const ends = { endsWork: true };
    expect(leaderGuard(nodeThat({ ...draining, isLeader: true }), "orders", ends)).toBeNull();
    expect(leaderGuard(nodeThat({ ...draining, isLeader: true }), "orders")).toMatchObject({ status: 503 });
    expect(leaderGuard(nodeThat({ ...draining, isLeader: false }), "orders", ends)).toMatchObject({ status: 503 });
    expect(leaderGuard(nodeThat({ ...behind, role: "DRAINING" }), "orders", ends)).toMatchObject({ status: 409 });
  });

  it("tells a leader that drains from a follower that drains", () => {
    expect(leaderGuard(nodeThat({ ...leader, role: "DRAINING" }), "orders")).toMatchObject({
      status: 503,
      body: { error: "DRAINING" },
    });
    expect(leaderGuard(nodeThat({ ...behind, role: "DRAINING" }), "orders")).toMatchObject({
      status: 409,
      body: { error: "NOT_LEADER", role: "STANDBY" },
    });
  });
});

describe("the headers", () => {
  it("leave out what HTTP cannot carry", () => {
    const headers = roleHeaders(nodeThat({ ...behind, leaderId: "b\r\nset-cookie: x" }));
    expect(headers).toEqual({ "x-holdfast-node": "a", "x-holdfast-role": "STANDBY", "x-holdfast-leader-epoch": "8" });
  });
});

describe("an error", () => {
  it("of Holdfast's has its answer", () => {
    const node = nodeThat(behind);
    expect(errorAnswer(new NotLeaderError("no", { role: "orders" }), node)).toMatchObject({
      status: 409,
      body: { error: "NOT_LEADER", leader_id: "b" },
    });
    expect(errorAnswer(new DrainingError(), node)).toMatchObject({ status: 503, body: { error: "DRAINING" } });
    const stale = new StaleEpochError("over", { details: { field: "leader_epoch", expected: 8n, got: 7n } });
    expect(errorAnswer(stale, node)?.body).toEqual({
      error: "STALE_EPOCH",
      alias: "STALE_LEASE",
      field: "leader_epoch",
      expected: 8,
      got: 7,
    });
  });

  it("of anybody else's is left to them", () => {
    expect(errorAnswer(new Error("mine"), nodeThat(leader))).toBeNull();
    expect(errorAnswer("mine", nodeThat(leader))).toBeNull();
  });
});
