import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jobStates } from "./job.js";
import { afterLoss, afterResult, type Held, judgeReport } from "./job-rules.js";

const backoff = { firstMs: 1_000, capMs: 300_000 };
const failed = { kind: "failed", backoff, jitter: 0 } as const;

describe("a result", () => {
  it("ends the job where it succeeded or failed for good", () => {
    expect(afterResult({ attempts: 1, maxAttempts: 5 }, { kind: "succeeded" }).state).toBe("succeeded");
    expect(afterResult({ attempts: 1, maxAttempts: 5 }, { kind: "failed_for_good" }).state).toBe("failed");
  });

  it("of a failure queues the job again after a pause, until its attempts are used up", () => {
    expect(afterResult({ attempts: 1, maxAttempts: 3 }, failed)).toEqual({ state: "queued", waitMs: 1_000 });
    expect(afterResult({ attempts: 2, maxAttempts: 3 }, failed)).toEqual({ state: "queued", waitMs: 2_000 });
    expect(afterResult({ attempts: 3, maxAttempts: 3 }, failed)).toEqual({ state: "dead", waitMs: 0 });
  });
});

it("a loss costs the attempt", () => {
  expect(afterLoss({ attempts: 1, maxAttempts: 2 })).toBe("queued");
  expect(afterLoss({ attempts: 2, maxAttempts: 2 })).toBe("dead");
});

const held: Held = {
  state: "leased",
  jobEpoch: 4,
  leaseId: "l",
  agent: "ann",
  reportedEpoch: 3,
  reportedSuccess: false,
};
const report = { jobEpoch: 4, leaseId: "l", agent: "ann", success: true };

describe("whether a result counts", () => {
  it("is judged by the lease that runs", () => {
    expect(judgeReport(held, report)).toEqual({ kind: "accepted" });
    expect(judgeReport(held, { ...report, agent: "ben" })).toEqual({ kind: "foreign" });
    expect(judgeReport(held, { ...report, leaseId: "k" })).toEqual({ kind: "foreign" });
    expect(judgeReport(held, { ...report, jobEpoch: 2 })).toEqual({ kind: "stale", expected: 4 });
    expect(judgeReport(null, report)).toEqual({ kind: "unknown" });
  });

  it("is told again where it was accepted before, and only for the same outcome", () => {
    expect(judgeReport(held, { ...report, jobEpoch: 3, success: false })).toEqual({ kind: "repeated" });
    expect(judgeReport(held, { ...report, jobEpoch: 3 })).toEqual({ kind: "stale", expected: 4 });
    const done = { ...held, state: "succeeded", reportedEpoch: 4, reportedSuccess: true } as const;
    expect(judgeReport(done, report)).toEqual({ kind: "repeated" });
    expect(judgeReport(done, { ...report, agent: "ben" })).toEqual({ kind: "foreign" });
    expect(judgeReport(done, { ...report, success: false })).toEqual({ kind: "stale", expected: 5 });
  });

  it("of a job that was never leased expects the first epoch", () => {
    const fresh = {
      state: "queued",
      jobEpoch: 0,
      leaseId: null,
      agent: null,
      reportedEpoch: 0,
      reportedSuccess: null,
    } as const;
    expect(judgeReport(fresh, { ...report, jobEpoch: 0 })).toEqual({ kind: "stale", expected: 1 });
  });

  it("is never so for a job that is not leased, nor for another epoch than its own", () => {
    const anyHeld = fc.record({
      state: fc.constantFrom(...jobStates),
      jobEpoch: fc.nat({ max: 3 }),
      leaseId: fc.constantFrom("l", "k"),
      agent: fc.constantFrom("ann", "ben"),
      reportedEpoch: fc.nat({ max: 3 }),
      reportedSuccess: fc.option(fc.boolean()),
    });
    fc.assert(
      fc.property(anyHeld, fc.nat({ max: 3 }), fc.boolean(), (any, jobEpoch, success) => {
        const verdict = judgeReport(any, { ...report, jobEpoch, success });
        const isHolder = any.leaseId === "l" && any.agent === "ann" && any.jobEpoch === jobEpoch;
        expect(verdict.kind === "accepted").toBe(any.state === "leased" && isHolder);
        if (verdict.kind === "stale") expect(verdict.expected).toBeGreaterThanOrEqual(any.jobEpoch);
      }),
    );
  });
});
