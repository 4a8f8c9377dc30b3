import { expect, it } from "vitest";
import { drainGraceMsOf } from "./job-settings.js";

const graceMs = (drainGraceSeconds: number, drainTimeoutMs: number) =>
  drainGraceMsOf({ jobs: { drainGraceSeconds }, timing: { drainTimeoutMs } });

it("a leader that drains takes results for as long as is set", () => {
  expect(graceMs(5, 30_000)).toBe(5_000);
  expect(graceMs(20, 30_000)).toBe(20_000);
});

it("a leader that drains keeps time to give its role up, or each handover under work would overrun", () => {
  expect(graceMs(5, 5_000)).toBe(3_000);
  expect(graceMs(30, 30_000)).toBe(28_000);
  expect(graceMs(5, 1_000)).toBe(0);
});
