import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Settlement } from "../../store/queue-contract.js";
import { type HeadRules, headOutcome } from "./head-outcome.js";

const rules: HeadRules = { maxAttempts: 3, policy: "dead_letter", backoff: { firstMs: 100, capMs: 1_000 } };
const error = "no route";

describe("a head that failed", () => {
  it("is tried again after a pause that grows", () => {
    expect(headOutcome({ attempts: 0, error }, rules, 0)).toEqual({ kind: "retry", attempts: 1, waitMs: 100, error });
    expect(headOutcome({ attempts: 1, error }, rules, 0)).toEqual({ kind: "retry", attempts: 2, waitMs: 200, error });
  });

  it("is buried with its reason at the last attempt", () => {
    expect(headOutcome({ attempts: 2, error }, rules, 0)).toEqual({ kind: "dead", attempts: 3, error });
  });

  it("holds its lane at the last attempt where the policy is to block", () => {
    const blocking: HeadRules = { ...rules, policy: "block" };
    expect(headOutcome({ attempts: 2, error }, blocking, 0)).toEqual({ kind: "blocked", attempts: 3, error });
  });

  it("holds its lane again when it fails after having been resumed", () => {
    const blocking: HeadRules = { ...rules, policy: "block" };
    expect(headOutcome({ attempts: 3, error }, blocking, 0)).toMatchObject({ kind: "blocked", attempts: 4 });
  });

  it("gets no second attempt where only one is allowed", () => {
    expect(headOutcome({ attempts: 0, error }, { ...rules, maxAttempts: 1 }, 0)).toMatchObject({ kind: "dead" });
  });

  it("gets exactly as many attempts as are allowed, and counts each", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.constantFrom("dead_letter", "block"), (maxAttempts, policy) => {
        let tries = 0;
        for (let attempts = 0; ; ) {
          const outcome: Settlement["head"] = headOutcome({ attempts, error }, { ...rules, maxAttempts, policy }, 0.5);
          tries += 1;
          expect(outcome).toMatchObject({ attempts: tries, error });
          if (outcome.kind !== "retry") {
            expect(outcome.kind).toBe(policy === "block" ? "blocked" : "dead");
            break;
          }
          attempts = outcome.attempts;
        }
        expect(tries).toBe(maxAttempts);
      }),
    );
  });
});
