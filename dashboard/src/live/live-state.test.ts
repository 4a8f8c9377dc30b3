import { describe, expect, it } from "vitest";
import type { ClusterNode, RoleLeader, Transition } from "../api/cluster.js";
import { atFirst, hear, type LiveState, maxHistory } from "./live-state.js";

const localNow = 1_000_000;

function leaderOf(role: string, leader: string | null, lease = 5): RoleLeader {
  return {
    role,
    leader_id: leader,
    leader_url: null,
    leader_epoch: 3,
    acquired_at: leader === null ? null : 990,
    lease_expires_at: leader === null ? null : 1000 + lease,
    lease_remaining_seconds: leader === null ? 0 : lease,
    tenure_seconds: null,
  };
}

function nodeOf(id: string, status: ClusterNode["status"], cpu = 0.5): ClusterNode {
  return {
    node_id: id,
    host: "h",
    pid: 1,
    status,
    started_at: 1,
    last_seen: 1,
    is_leader: false,
    url: null,
    roles: [],
    worker_capabilities: [],
    version: "1",
    current_connections: 0,
    current_jobs: 0,
    cpu_usage: cpu,
    memory_usage: 0,
    load: 0,
    promotable: true,
    config_version: 0,
  };
}

function transition(id: string): Transition {
  return {
    id,
    role: "r",
    epoch: 1,
    event: "elected",
    reason: "evidence",
    node_id: "a",
    previous_node_id: "b",
    gap_seconds: 0.005,
    at: 1,
  };
}

const seeNodes = (state: LiveState, nodes: readonly ClusterNode[], now = 1000): LiveState =>
  hear(state, { kind: "nodes", nodes, now, leader_node_id: null, lease_owner: null, lease_expires_at: null }, localNow);

const seeLeaders = (state: LiveState, items: readonly RoleLeader[], now = 1000, local = localNow): LiveState =>
  hear(state, { kind: "leaders", items, now }, local);

describe("the stream", () => {
  it("is live from its hello on, and keeps what it knew while it is away", () => {
    const live = hear(atFirst, { kind: "hello", node_id: "a", now: 1000 }, localNow);
    expect(live).toMatchObject({ connection: "live", nodeId: "a" });
    const away = hear(seeLeaders(live, [leaderOf("r", "a")]), { kind: "away" }, localNow);
    expect(away).toMatchObject({ connection: "away", leaders: [{ leader_id: "a" }] });
  });
});

describe("the server's clock", () => {
  it("is not taken to be slow because an event came late", () => {
    const live = hear(atFirst, { kind: "hello", node_id: "a", now: 1002 }, localNow);
    expect(live.clockOffsetMs).toBe(2000);
    const late = seeLeaders(live, [], 1003, localNow + 1900);
    expect(late.clockOffsetMs).toBeGreaterThan(1900);
    expect(seeLeaders(late, [], 1004, localNow + 1990).clockOffsetMs).toBe(2010);
  });

  it("is followed slowly where it falls behind for good", () => {
    let state = hear(atFirst, { kind: "hello", node_id: "a", now: 1002 }, localNow);
    for (let second = 1; second <= 100; second += 1)
      state = seeLeaders(state, [], 1001 + second, localNow + second * 1000);
    expect(state.clockOffsetMs).toBeLessThan(1300);
    expect(state.clockOffsetMs).toBeGreaterThanOrEqual(1000);
  });

  it("is learnt anew from a new stream", () => {
    const fast = hear(atFirst, { kind: "hello", node_id: "a", now: 1060 }, localNow);
    expect(hear(fast, { kind: "hello", node_id: "b", now: 1000 }, localNow).clockOffsetMs).toBe(0);
  });
});

describe("a lease", () => {
  it("is full at the longest that was seen of its role", () => {
    const once = seeLeaders(atFirst, [leaderOf("r", "a", 4.2)]);
    expect(seeLeaders(once, [leaderOf("r", "a", 5)]).fullLeaseMs).toEqual({ r: 5000 });
    expect(seeLeaders(once, [leaderOf("r", "a", 1)]).fullLeaseMs).toEqual({ r: 4200 });
  });

  it("that ran out leaves its role without a leader from its end on", () => {
    const led = seeLeaders(atFirst, [leaderOf("r", "a", 2)]);
    const vacant = seeLeaders(led, [leaderOf("r", null)], 1004);
    expect(vacant.leaderlessSince).toEqual({ r: 1002 });
    expect(seeLeaders(vacant, [leaderOf("r", null)], 1009).leaderlessSince).toEqual({ r: 1002 });
    expect(seeLeaders(vacant, [leaderOf("r", "b")], 1009).leaderlessSince).toEqual({});
  });

  it("that was given up early leaves it so from that moment, and not from a later end", () => {
    const led = seeLeaders(atFirst, [leaderOf("r", "a", 5)]);
    expect(seeLeaders(led, [leaderOf("r", null)], 1001).leaderlessSince).toEqual({ r: 1001 });
  });
});

describe("what becomes of nodes", () => {
  it("is no news when it is first seen", () => {
    expect(seeNodes(atFirst, [nodeOf("a", "active")]).nodeChanges).toEqual([]);
  });

  it("is told newest first: who came, who changed, who is off the list", () => {
    const before = seeNodes(atFirst, [nodeOf("a", "active"), nodeOf("b", "dead")]);
    const after = seeNodes(before, [nodeOf("a", "draining"), nodeOf("c", "joining")], 1001);
    expect(after.nodeChanges).toEqual([
      { at: 1001, node_id: "a", from: "active", to: "draining" },
      { at: 1001, node_id: "c", from: null, to: "joining" },
      { at: 1001, node_id: "b", from: "dead", to: "forgotten" },
    ]);
    expect(seeNodes(after, [nodeOf("a", "active"), nodeOf("c", "joining")], 1002).nodeChanges[0]).toEqual({
      at: 1002,
      node_id: "a",
      from: "draining",
      to: "active",
    });
  });

  it("keeps a minute of their load, and none of those that are gone", () => {
    let state = seeNodes(atFirst, [nodeOf("b", "active")]);
    for (let count = 0; count < 80; count += 1) state = seeNodes(state, [nodeOf("a", "active", count / 100)]);
    expect(Object.keys(state.cpu)).toEqual(["a"]);
    expect(state.cpu.a).toHaveLength(60);
    expect(state.cpu.a?.at(-1)).toBe(0.79);
  });
});

describe("the history", () => {
  it("has each change once, newest first, in whatever order they come", () => {
    const some = hear(atFirst, { kind: "history", transitions: [transition("9"), transition("11")] }, localNow);
    const more = hear(some, { kind: "history", transitions: [transition("10"), transition("9")] }, localNow);
    expect(more.history.map(({ id }) => id)).toEqual(["11", "10", "9"]);
  });

  it("forgets the oldest when it is long", () => {
    const many = Array.from({ length: maxHistory + 5 }, (_, index) => transition(String(index)));
    const { history } = hear(atFirst, { kind: "history", transitions: many }, localNow);
    expect(history).toHaveLength(maxHistory);
    expect(history[0]?.id).toBe(String(maxHistory + 4));
  });
});
