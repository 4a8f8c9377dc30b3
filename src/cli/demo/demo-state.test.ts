import { describe, expect, it } from "vitest";
import { type DemoEvent, type DemoState, initialState, leaderOf, stateAfter } from "./demo-state.js";

const fresh = initialState([1, 2, 3].map((n) => ({ id: `node-${n}`, url: `http://127.0.0.1:740${n - 1}` })));

const stateWith = (...events: readonly DemoEvent[]): DemoState => events.reduce(stateAfter, fresh);

const leads = (nodeId: string, epoch: number, at = 0): DemoEvent => ({
  kind: "answered",
  nodeId,
  answer: { role: "LEADER", leader_epoch: epoch },
  at,
});
const standsBy = (nodeId: string): DemoEvent => ({
  kind: "answered",
  nodeId,
  answer: { role: "STANDBY", leader_epoch: 1 },
  at: 0,
});
const struck = (nodeId: string, deed: "killed" | "frozen", at: number): DemoEvent => ({
  kind: "struck",
  nodeId,
  deed,
  at,
});
const conditionOf = (state: DemoState, nodeId: string): string | undefined =>
  state.nodes.find(({ id }) => id === nodeId)?.condition.kind;

const calm = [leads("node-1", 1), standsBy("node-2"), standsBy("node-3")];

describe("a takeover", () => {
  it("is measured from the blow to the answer of the next leader", () => {
    const state = stateWith(
      ...calm,
      struck("node-1", "killed", 1_000),
      standsBy("node-3"),
      leads("node-2", 2, 1_012.5),
    );
    expect(leaderOf(state)?.id).toBe("node-2");
    expect(state.blow).toBeNull();
    expect(state.takeovers).toEqual([
      { from: "node-1", deed: "killed", to: "node-2", epoch: 2, tookMs: 12.5, databaseMs: null },
    ]);
  });

  it("gets the database's account of it later, and only its own", () => {
    const state = stateWith(
      ...calm,
      struck("node-1", "killed", 0),
      leads("node-2", 2, 10),
      struck("node-2", "killed", 20),
      leads("node-3", 3, 30),
      { kind: "accounted", epoch: 2, databaseMs: 4 },
    );
    expect(state.takeovers.map(({ epoch, databaseMs }) => [epoch, databaseMs])).toEqual([
      [3, null],
      [2, 4],
    ]);
  });

  it("is counted from the end of a leader that nobody here killed", () => {
    const ended: DemoEvent = { kind: "ended", nodeId: "node-1", how: "SIGKILL", at: 100 };
    const state = stateWith(...calm, ended, leads("node-3", 2, 107));
    expect(state.takeovers).toMatchObject([{ from: "node-1", deed: "died", to: "node-3", tookMs: 7 }]);
  });

  it("from a leader that ended is no hand-over, whatever is heard first: its silence, or its successor", () => {
    const ended: DemoEvent = { kind: "ended", nodeId: "node-1", how: "SIGKILL", at: 100 };
    const silent: DemoEvent = { kind: "unanswered", nodeId: "node-1" };
    const afterSilence = stateWith(...calm, silent, ended, leads("node-3", 2, 107));
    expect(afterSilence.takeovers).toMatchObject([{ from: "node-1", deed: "died", to: "node-3", tookMs: 7 }]);
    const afterSuccessor = stateWith(...calm, leads("node-3", 2, 99), ended);
    expect(afterSuccessor.takeovers).toMatchObject([{ from: "node-1", deed: "died", to: "node-3", tookMs: null }]);
    expect(afterSuccessor.blow).toBeNull();
  });

  it("without a blow is a hand-over, and has no length", () => {
    const state = stateWith(...calm, leads("node-2", 2, 50));
    expect(state.takeovers).toMatchObject([{ from: "node-1", deed: null, to: "node-2", tookMs: null }]);
    expect(conditionOf(state, "node-1")).toBe("stands_by");
  });

  it("is not what the first leader does", () => {
    expect(stateWith(...calm).takeovers).toEqual([]);
  });

  it("does not wait for the end of a standby", () => {
    const state = stateWith(...calm, { kind: "ended", nodeId: "node-2", how: "SIGKILL", at: 100 });
    expect(state.blow).toBeNull();
    expect(conditionOf(state, "node-2")).toBe("dead");
  });
});

describe("an answer", () => {
  it.each(["killed", "frozen"] as const)("that was under way when its node was %s does not revive it", (deed) => {
    const state = stateWith(...calm, struck("node-1", deed, 0), leads("node-1", 1, 1));
    expect(leaderOf(state)).toBeNull();
    expect(state.blow?.nodeId).toBe("node-1");
  });

  it("of an epoch that has passed makes nobody leader", () => {
    const state = stateWith(...calm, leads("node-2", 2), leads("node-1", 1));
    expect(leaderOf(state)?.id).toBe("node-2");
  });

  it("of a leader that was woken in time ends the wait for another", () => {
    const state = stateWith(...calm, struck("node-1", "frozen", 0), { kind: "woken", nodeId: "node-1" });
    expect(conditionOf(state, "node-1")).toBe("waking");
    const awake = stateAfter(state, leads("node-1", 1, 900));
    expect(awake).toMatchObject({ blow: null, takeovers: [] });
    expect(awake.notice).toContain("leads on");
  });

  it("that says nothing new leaves the very same state", () => {
    const state = stateWith(...calm);
    expect(calm.reduce(stateAfter, state)).toBe(state);
  });

  it("that does not come makes a node silent, but not one that starts or is frozen", () => {
    const none = (nodeId: string): DemoEvent => ({ kind: "unanswered", nodeId });
    const state = stateWith(leads("node-1", 1), standsBy("node-2"), struck("node-1", "frozen", 0), none("node-1"));
    expect(
      [none("node-2"), none("node-3")].reduce(stateAfter, state).nodes.map(({ condition }) => condition.kind),
    ).toEqual(["frozen", "silent", "starting"]);
  });
});

it("a node that was started again has a new pid and a clean slate", () => {
  const state = stateWith(...calm, struck("node-1", "killed", 0), { kind: "started", nodeId: "node-1", pid: 77 });
  expect(state.nodes[0]).toMatchObject({ pid: 77, condition: { kind: "starting" } });
});
