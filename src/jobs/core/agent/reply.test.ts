import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPassing, judge, type Reply } from "./reply.js";
import { readRenewal, readReportAnswers, readWork } from "./work.js";

const answered = (status: number, body: unknown, isNode = true): Reply => ({ kind: "answered", status, isNode, body });

describe("what came back", () => {
  it.each([
    [answered(200, { a: 1 }), { kind: "served", body: { a: 1 } }],
    [answered(204, undefined), { kind: "served", body: {} }],
    [answered(409, { error: "NOT_LEADER", leader_url: "http://b:1/" }), { kind: "elsewhere", leaderUrl: "http://b:1" }],
    [answered(409, { error: "NOT_LEADER", leader_url: null }), { kind: "elsewhere", leaderUrl: null }],
    [answered(409, { error: "NOT_LEADER", leader_url: "file:///b" }), { kind: "elsewhere", leaderUrl: null }],
    [
      answered(404, { error: "NOT_FOUND", message: "No." }, false),
      { kind: "refused", code: "NOT_FOUND", message: "No." },
    ],
    [answered(418, { error: "TEAPOT" }), { kind: "refused", code: "TEAPOT", message: "it says TEAPOT" }],
  ])("of %j is %j", (reply, verdict) => {
    expect(judge(reply)).toEqual(verdict);
  });

  it.each([
    ["nobody", { kind: "unreached", reason: "connection refused" } as const, "connection refused"],
    ["a leader that drains", answered(503, { error: "DRAINING", message: "Soon." }), "DRAINING: Soon."],
    ["too many requests", answered(429, { error: "TOO_BUSY", message: "Slow." }), "TOO_BUSY: Slow."],
    ["success without a node", answered(200, {}, false), "what answers there (HTTP 200) is no Holdfast node"],
    ["no JSON", answered(200, undefined), "what answers there (HTTP 200) is no Holdfast node"],
    ["a list", answered(200, []), "what answers there (HTTP 200) is no Holdfast node"],
    ["a redirect", answered(302, undefined, false), "what answers there (HTTP 302) is no Holdfast node"],
    [
      "a stranger's error",
      answered(404, { error: "nginx" }, false),
      "what answers there (HTTP 404) is no Holdfast node",
    ],
  ])("of %s is worth another try", (_who, reply, reason) => {
    expect(judge(reply)).toEqual({ kind: "later", reason });
  });

  it("has a verdict, whatever it is", () => {
    fc.assert(
      fc.property(fc.nat({ max: 700 }), fc.boolean(), fc.jsonValue(), (status, isNode, body) => {
        expect(["served", "elsewhere", "refused", "later"]).toContain(judge(answered(status, body, isNode)).kind);
      }),
    );
  });

  it("passes where it is the server's, and stays where it is ours", () => {
    expect(["DRAINING", "UNKNOWN_OUTCOME", "DATABASE_AWAY", "NOT_LEADER"].map(isPassing)).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(["NOT_FOUND", "FORBIDDEN", "STALE_EPOCH", "TEAPOT"].map(isPassing)).toEqual([false, false, false, false]);
  });
});

describe("work", () => {
  const task = { job_id: "j", job_epoch: 3, op: "resize", payload: { w: 1 }, attempt: 2, timeout_ms: 500 };

  it("is read with what the leader says, and with what it may leave out", () => {
    expect(readWork({ lease_id: "l", ttl_ms: 60_000, tasks: [task] })).toEqual({
      leaseId: "l",
      ttlMs: 60_000,
      tasks: [{ jobId: "j", jobEpoch: 3, op: "resize", payload: { w: 1 }, attempt: 2, timeoutMs: 500 }],
    });
    const bare = { job_id: "j", job_epoch: 3, op: "resize" };
    expect(readWork({ lease_id: "l", tasks: [bare] })).toEqual({
      leaseId: "l",
      ttlMs: null,
      tasks: [{ jobId: "j", jobEpoch: 3, op: "resize", payload: null, attempt: 1, timeoutMs: null }],
    });
    expect(readWork({})).toBe("none");
  });

  it.each([
    [{ tasks: [task] }],
    [{ lease_id: "l" }],
    [{ lease_id: "l", tasks: [] }],
    [{ lease_id: "l", tasks: [{ ...task, job_epoch: "3" }] }],
    [{ lease_id: "l", tasks: [task, null] }],
    [{ lease_id: "l", tasks: [{ ...task, op: "" }] }],
  ])("that makes no sense, %j, is none", (body) => {
    expect(readWork(body)).toBeNull();
  });

  it("of a renewed lease is what is still counted to it", () => {
    expect(readRenewal({ ttl_ms: 5, job_ids: ["a"] })).toEqual({ ttlMs: 5, jobIds: ["a"] });
    expect(readRenewal({ ttl_ms: -5, job_ids: "a" })).toEqual({ ttlMs: null, jobIds: null });
  });

  it("has an answer to each result, or none at all", () => {
    const results = [{ state: "succeeded" }, { error: "STALE_EPOCH" }, { error: "NOT_LEADER" }, { error: "NOT_FOUND" }];
    expect(readReportAnswers({ results }, 4)?.map(({ kind }) => kind)).toEqual([
      "accepted",
      "stale",
      "later",
      "refused",
    ]);
    expect(readReportAnswers({ results }, 3)).toBeNull();
    expect(readReportAnswers({}, 1)).toBeNull();
  });
});
