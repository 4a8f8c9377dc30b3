import { expect, it } from "vitest";
import { agentState } from "./agent.js";

it("an agent is judged by how long it has been silent, and a tombstone is one whatever it says", () => {
  const limits = { staleMs: 15_000, deadMs: 60_000 };
  expect(agentState({ silentMs: 14_999, deletedAt: null }, limits)).toBe("active");
  expect(agentState({ silentMs: 15_000, deletedAt: null }, limits)).toBe("stale");
  expect(agentState({ silentMs: 60_000, deletedAt: null }, limits)).toBe("dead");
  expect(agentState({ silentMs: 0, deletedAt: 1 }, limits)).toBe("deleted");
});
