import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clockRateError, deriveTiming, type TimingSettings } from "./timing.js";

const defaults: TimingSettings = {
  heartbeatMs: 1_000,
  fenceMs: 3_500,
  ttlMs: 5_000,
  nodeTimeoutMs: 5_000,
  acquireDelayMs: 0,
  evidenceGraceMs: 0,
  drainTimeoutMs: 30_000,
};

const error = (change: Partial<TimingSettings>): string => {
  try {
    deriveTiming({ ...defaults, ...change });
    return "";
  } catch (thrown) {
    return (thrown as Error).message;
  }
};

describe("timings", () => {
  it("are accepted as they are by default", () => {
    expect(deriveTiming(defaults)).toMatchObject({ requestTimeoutMs: 1_150 });
  });

  it.each([
    [{ fenceMs: 6_000 }, "leader_fence_timeout_seconds (6) must be below leader_lease_ttl_seconds (5)"],
    [{ heartbeatMs: 4_000 }, "heartbeat_seconds (4) must be below leader_fence_timeout_seconds (3.5)"],
    [{ fenceMs: 4_950 }, "raise it to at least 5.07"],
    [{ heartbeatMs: 2_800 }, "raise the fence timeout to at least 3.56"],
    [{ nodeTimeoutMs: 900 }, "node_timeout_seconds (0.9) must be above heartbeat_seconds (1)"],
    [{ evidenceGraceMs: 50 }, "evidence_grace (50ms) must be 0ms or at least 100ms"],
    [{ evidenceGraceMs: 4_000 }, "evidence_grace (4000ms) must be below leader_fence_timeout_seconds (3.5)"],
  ] as const)("refuses %o in one line that says what to change", (change, said) => {
    expect(error(change)).toContain(said);
    expect(error(change)).not.toContain("\n");
  });

  it("that are accepted let every trust run out before its lease, with clocks 1 % apart", () => {
    const any = fc.record({
      heartbeatMs: fc.integer({ min: 1, max: 20_000 }),
      fenceMs: fc.integer({ min: 1, max: 60_000 }),
      ttlMs: fc.integer({ min: 1, max: 60_000 }),
    });
    fc.assert(
      fc.property(any, (change) => {
        if (error({ ...change, nodeTimeoutMs: 100_000 }) !== "") return;
        expect(change.fenceMs * (1 + clockRateError)).toBeLessThan(change.ttlMs * (1 - clockRateError));
        expect(change.heartbeatMs * 1.2).toBeLessThan(change.fenceMs);
      }),
    );
  });
});
