import { expect, it } from "vitest";
import { viewCluster } from "./cluster-view.js";
import type { NodeRow, NodeStatus } from "./node-row.js";

const nodeTimeoutMs = 5_000;

/** As much of a store as a look at the leaders takes: one node, and the lease that names it. */
async function leadersOf(row: { status?: NodeStatus; ageMs?: number; incarnation?: string }, remainingMs = 1_000) {
  const { status = "active", ageMs = 0, incarnation = "first" } = row;
  const node = { nodeId: "a", status, heartbeatAgeMs: ageMs, incarnation } as unknown as NodeRow;
  const lease = { role: "scheduler", holder: "a", incarnation: "first", acquiredAt: 0, expiresAt: 0, remainingMs };
  const source = {
    registry: { nodes: async () => await Promise.resolve([node]) },
    leases: async () => await Promise.resolve([lease]),
  };
  const view = viewCluster(source as unknown as Parameters<typeof viewCluster>[0], { name: "default", nodeTimeoutMs });
  const [seen] = await view.leases();
  expect(seen?.incarnation).toBe("first");
  return (await view.info()).leaders;
}

it("a role is led by the process that took its lease", async () => {
  expect(await leadersOf({})).toEqual({ scheduler: "a" });
  expect(await leadersOf({ status: "draining" })).toEqual({ scheduler: "a" });
});

it("a role is not led by another process of the same name, nor by one that is gone, nor under a lease that has run out", async () => {
  expect(await leadersOf({ incarnation: "second" })).toEqual({});
  expect(await leadersOf({ status: "left" })).toEqual({});
  expect(await leadersOf({ ageMs: nodeTimeoutMs + 1 })).toEqual({});
  expect(await leadersOf({}, 0)).toEqual({});
});
