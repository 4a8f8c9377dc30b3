import { expect, it } from "vitest";
import { isFinished, isRedrivable, jobStates, suits } from "./job.js";

it("a job is finished unless it is queued or leased, and all that is finished but a success can be redriven", () => {
  expect(jobStates.filter(isFinished)).toEqual(["succeeded", "failed", "dead", "cancelled"]);
  expect(jobStates.filter(isRedrivable)).toEqual(["failed", "dead", "cancelled"]);
});

it("an agent may take what asks for no more than it has, in its namespace, and is nobody else's", () => {
  const demand = { namespace: "default", capabilities: ["gpu"], pinnedAgent: null };
  const agent = { agent: "ann", namespace: "default", capabilities: ["pdf", "gpu"] };
  expect(suits(demand, agent)).toBe(true);
  expect(suits({ ...demand, capabilities: [] }, agent)).toBe(true);
  expect(suits({ ...demand, pinnedAgent: "ann" }, agent)).toBe(true);
  expect(suits({ ...demand, pinnedAgent: "ben" }, agent)).toBe(false);
  expect(suits({ ...demand, capabilities: ["gpu", "tpu"] }, agent)).toBe(false);
  expect(suits({ ...demand, namespace: "billing" }, agent)).toBe(false);
});
