import { expect, it } from "vitest";
import { type Condition, type DemoState, initialState } from "./demo-state.js";
import { wishOf } from "./keys.js";

const leads: Condition = { kind: "leads", epoch: 1 };
const standsBy: Condition = { kind: "stands_by" };
const dead: Condition = { kind: "dead", how: "SIGKILL" };

function cluster(...conditions: readonly Condition[]): DemoState {
  const state = initialState(conditions.map((_, index) => ({ id: `node-${index + 1}`, url: "" })));
  return {
    ...state,
    nodes: state.nodes.map((node, index) => ({ ...node, condition: conditions[index] ?? standsBy })),
  };
}

it.each([
  ["k", "killed"],
  ["K", "killed"],
  ["s", "frozen"],
] as const)("%s is for the leader: it gets %s", (key, deed) => {
  expect(wishOf(cluster(standsBy, leads, standsBy), key)).toEqual({ kind: "strike", nodeId: "node-2", deed });
});

it.each(["k", "s"])("%s where nobody leads only says so", (key) => {
  expect(wishOf(cluster(standsBy, dead), key)).toEqual({
    kind: "tell",
    text: "Nobody leads at this moment: r revives nodes.",
  });
  const frozen = {
    ...cluster({ kind: "frozen" }, standsBy),
    blow: { nodeId: "node-1", deed: "frozen", at: 0 },
  } as const;
  expect(wishOf(frozen, key)).toMatchObject({ kind: "tell", text: expect.stringContaining("has to run out first") });
});

it("r starts what is dead and wakes what is frozen or silent", () => {
  const state = cluster(dead, { kind: "frozen" }, leads, { kind: "silent" }, dead);
  expect(wishOf(state, "r")).toEqual({ kind: "revive", restart: ["node-1", "node-5"], wake: ["node-2", "node-4"] });
});

it("r where all are alive only says so", () => {
  expect(wishOf(cluster(leads, standsBy), "r")).toEqual({ kind: "tell", text: "All nodes are alive." });
});

it.each(["q", "Q", "\u0003", "\u0004"])("%j quits", (key) => {
  expect(wishOf(cluster(leads), key)).toEqual({ kind: "quit" });
});

it.each(["x", " ", "\u001b", "[", "\r"])("%j means nothing", (key) => {
  expect(wishOf(cluster(leads), key)).toBeNull();
});
