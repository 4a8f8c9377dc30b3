import { expect, test } from "vitest";
import { type FaultKind, faultKinds } from "./history.js";
import { Plan } from "./plan.js";

const drawnIn = (plan: Plan, waves: number): readonly (readonly FaultKind[])[] =>
  Array.from({ length: waves }, () => plan.next().faults.map(({ kind }) => kind));

test("the same seed plans the same faults, and another seed others", () => {
  const waves = (seed: number) => {
    const plan = new Plan(seed, faultKinds);
    return Array.from({ length: 40 }, () => plan.next());
  };
  expect(waves(7)).toEqual(waves(7));
  expect(waves(7)).not.toEqual(waves(8));
});

test("each fault has its turn before any has another", () => {
  for (let seed = 0; seed < 50; seed += 1) {
    const plan = new Plan(seed, faultKinds);
    const drawn: FaultKind[] = [];
    while (drawn.length < faultKinds.length) drawn.push(...plan.next().faults.map(({ kind }) => kind));
    expect(new Set(drawn.slice(0, faultKinds.length)).size).toBe(faultKinds.length);
  }
});

test("faults come alone, and two and more at a time", () => {
  const sizes = drawnIn(new Plan(1, faultKinds), 100).map((wave) => wave.length);
  expect(new Set(sizes)).toEqual(new Set([1, 2, 3, 4]));
});

test("a server is never put out of action in two ways at once", () => {
  const ofTheServer: readonly FaultKind[] = ["restart_fast", "restart_immediate", "database_failover", "disk_full"];
  for (const wave of drawnIn(new Plan(3, faultKinds), 200))
    expect(wave.filter((kind) => ofTheServer.includes(kind)).length).toBeLessThanOrEqual(1);
});

test("a fault that found no occasion is in the next wave", () => {
  const plan = new Plan(5, faultKinds);
  plan.next();
  plan.giveBack("reply_lost_after_commit");
  expect(plan.next().faults.map(({ kind }) => kind)).toContain("reply_lost_after_commit");
});

test("no wave has more than one fault where only one is wanted", () => {
  expect(drawnIn(new Plan(9, ["kill"]), 5)).toEqual(Array.from({ length: 5 }, () => ["kill"]));
});
