import { expect, it } from "vitest";
import { mayWork } from "./working-rule.js";

const alone = { isLeader: true, isDraining: false, activeNodes: 1, leaderWorks: false };

it.each([
  ["a leader that is the only active node", alone, true],
  ["a leader that does not know of others yet", { ...alone, activeNodes: 0 }, true],
  ["a leader beside another node", { ...alone, activeNodes: 2 }, false],
  ["a leader beside another node that is told to work", { ...alone, activeNodes: 2, leaderWorks: true }, true],
  ["a node that does not lead", { ...alone, isLeader: false, activeNodes: 3 }, true],
  ["a node that drains", { ...alone, isLeader: false, isDraining: true }, false],
  ["a draining leader that is told to work", { ...alone, isDraining: true, leaderWorks: true }, false],
])("%s works on jobs: %#", (_who, situation, works) => {
  expect(mayWork(situation)).toBe(works);
});
