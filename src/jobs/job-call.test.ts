import { describe, expect, it } from "vitest";
import { submission, wish } from "../../test/support/job-scene.js";
import type { SubmissionAnswer } from "../store/job-orders.js";
import { asMade, leftOver } from "./job-call.js";

const answer = (jobId: string, rest: Partial<SubmissionAnswer> = {}): SubmissionAnswer => ({
  kind: "created",
  jobId,
  jobEpoch: 0,
  state: "queued",
  same: true,
  ...rest,
});
const task = (jobId: string) =>
  ({
    jobId,
    jobEpoch: 1,
    op: "resize",
    payloadText: "null",
    namespace: "default",
    attempt: 1,
    maxAttempts: 5,
    timeoutMs: 1,
  }) as const;
const lease = { kind: "lease", ttlMs: 1, ...wish("ann"), leaseId: "l" } as const;

describe("what is left over when orders are committed", () => {
  const left = (orders: Parameters<typeof leftOver>[0], answers: Parameters<typeof leftOver>[1]) =>
    leftOver(orders, answers, 1_000).map(({ jobId }) => jobId);

  it("is what came in and was not handed out at once", () => {
    const orders = [
      submission("a"),
      submission("b"),
      submission("now", { runAt: 9 }),
      submission("later", { runAt: 99_000 }),
      lease,
    ] as const;
    const leased = { kind: "leased", leaseId: "l", expiresAt: 1, tasks: [task("a")] } as const;
    expect(left(orders, [answer("a"), answer("b"), answer("now"), answer("later"), leased])).toEqual(["b", "now"]);
    expect(left(orders, [null, answer("b"), null, null, { kind: "none" }])).toEqual(["b"]);
  });

  it("has also what the same message brought in before, when its answer was lost", () => {
    const orders = [submission("a"), submission("b")];
    const again = [answer("a", { kind: "existing" }), answer("b", { kind: "existing", state: "succeeded" })];
    expect(left(orders, again)).toEqual(["a"]);
  });
});

describe("a submission that had to be sent twice", () => {
  it("has made its job where the id is its own, and found another's where it is not", () => {
    const existing = answer("a", { kind: "existing", state: "leased" });
    expect(asMade(submission("a", { hasNewId: true }), existing)).toEqual({ ...existing, kind: "created" });
    expect(asMade(submission("a"), existing)).toEqual(existing);
    // By its key.
    expect(asMade(submission("b", { hasNewId: true, idempotencyKey: "k" }), existing)).toEqual(existing);
  });
});
