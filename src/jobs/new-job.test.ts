import { describe, expect, it } from "vitest";
import { jobSettingsOf } from "./job-settings.js";
import { checkJson, jobLimits, type NewJob, storableText, submissionOf } from "./new-job.js";

const settings = jobSettingsOf({
  jobs: { maxAttempts: 5, drainGraceSeconds: 5, backoff: { ms: 1_000 }, timeout: { ms: 3_600_000 } },
  store: { leaseTtlSeconds: 60 },
  timing: { drainTimeoutMs: 30_000 },
});
const now = Date.UTC(2030, 0, 1);
const made = (job: Partial<NewJob> = {}) => submissionOf({ op: "resize", ...job }, settings, now);

describe("a new job", () => {
  it("is filled up from the settings", () => {
    expect(made()).toEqual({
      kind: "submit",
      jobId: expect.any(String),
      hasNewId: true,
      op: "resize",
      payload: null,
      namespace: "default",
      priority: 1,
      capabilities: [],
      pinnedAgent: null,
      runAt: null,
      timeoutMs: 3_600_000,
      maxAttempts: 5,
      idempotencyKey: null,
      cron: null,
      tick: null,
    });
  });

  it("keeps what it says itself", () => {
    const runAt = new Date(now + 1_000);
    const job = { jobId: "j-1", priority: 3, capabilities: ["gpu", "gpu"], pinnedAgent: "a", runAt, timeoutMs: 5 };
    expect(made({ ...job, maxAttempts: 1, idempotencyKey: "k", namespace: "n", payload: { a: 1 } })).toMatchObject({
      ...job,
      capabilities: ["gpu"],
      runAt: runAt.getTime(),
      maxAttempts: 1,
      idempotencyKey: "k",
      namespace: "n",
      payload: { a: 1 },
    });
  });

  it("has an id that grows with time, and is never the same twice", () => {
    const ids = Array.from({ length: 100 }, (_, n) => submissionOf({ op: "x" }, settings, now + n).jobId);
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(Array.from({ length: 100 }, () => made().jobId)).size).toBe(100);
    expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it.each([
    [{ op: "" }, "op"],
    [{ op: "-x" }, "op"],
    [{ op: "a".repeat(201) }, "op"],
    [{ namespace: "two words" }, "namespace"],
    [{ jobId: "" }, "job_id"],
    [{ pinnedAgent: " " }, "pinned_agent"],
    [{ capabilities: ["\u00fc"] }, "capability"],
    [{ capabilities: Array.from({ length: 33 }, (_, n) => `c${n}`) }, "capabilities"],
    [{ priority: -1 }, "priority"],
    [{ priority: 4 }, "priority"],
    [{ priority: 1.5 }, "priority"],
    [{ timeoutMs: 0 }, "timeout_ms"],
    [{ timeoutMs: jobLimits.timeoutMs + 1 }, "timeout_ms"],
    [{ maxAttempts: 0 }, "max_attempts"],
    [{ idempotencyKey: "" }, "idempotency_key"],
    [{ runAt: new Date(Number.NaN) }, "run_at"],
    [{ payload: "zero \0" }, "payload"],
    [{ payload: { "\ud800": 1 } }, "payload"],
    [{ payload: [{ deep: ["\udfff"] }] }, "payload"],
  ] as [Partial<NewJob>, string][])("may not be %j", (job, named) => {
    expect(() => made(job)).toThrow(
      expect.objectContaining({ code: "INVALID_REQUEST", message: expect.stringContaining(named) as string }),
    );
  });

  it.each([
    ["a bigint", { n: [1n] }],
    ["a function", () => 1],
    ["a symbol", Symbol("s")],
  ])("may not hold %s, which has no JSON", (_what, payload) => {
    const refusal = expect.objectContaining({
      code: "INVALID_REQUEST",
      message: expect.stringContaining("must be JSON") as string,
    });
    expect(() => made({ payload: payload as never })).toThrow(refusal);
  });

  it("takes a payload up to a limit in bytes, and says what to do beyond", () => {
    const most = "x".repeat(jobLimits.payloadBytes - 2);
    expect(() => checkJson("payload", most)).not.toThrow();
    expect(() => checkJson("payload", `${most}x`)).toThrow(expect.objectContaining({ code: "BODY_TOO_LARGE" }));
    expect(() => checkJson("payload", "\u20ac".repeat(jobLimits.payloadBytes / 3))).toThrow("keep it elsewhere");
  });
});

describe("an error that an agent tells", () => {
  it("is stored whatever it says, up to a length", () => {
    expect(storableText("plain \u{1f511}", 100)).toBe("plain \u{1f511}");
    expect(storableText("zero \0 half \ud800 end", 100)).toBe("zero \ufffd half \ufffd end");
    expect(storableText("ab\u{1f511}", 3)).toBe("ab");
    expect(storableText("x".repeat(5_000), 4_096)).toHaveLength(4_096);
  });
});
