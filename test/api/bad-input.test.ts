import { describe, expect, it } from "vitest";
import { jobLimits } from "../../src/jobs/new-job.js";
import { type Served, serveOpen } from "./served.js";

type Body = Record<string, unknown>;
interface Answer {
  readonly status: number;
  readonly body: Body;
}
interface Scene extends Served {
  /** The lease of job `leased`, which agent `a` has. */
  readonly leaseId: string;
  /** The leases that agent `a` had of two others. */
  readonly past: { readonly cancelled: string; readonly succeeded: string };
  call(method: "POST" | "DELETE", url: string, payload?: unknown, contentType?: string): Promise<Answer>;
}

async function openScene(): Promise<Scene> {
  const served = await serveOpen();
  const call: Scene["call"] = async (method, url, payload, contentType = "application/json") => {
    const sent = typeof payload === "string" ? payload : JSON.stringify(payload);
    const headers = payload === undefined ? {} : { "content-type": contentType };
    const given = payload === undefined ? {} : { payload: sent };
    const reply = await served.app.inject({ method, url, headers, ...given });
    return { status: reply.statusCode, body: (reply.body === "" ? {} : JSON.parse(reply.body)) as Body };
  };
  const submit = async (jobId: string, rest: Body = {}): Promise<void> => {
    const { status } = await call("POST", "/v1/jobs", { op: "resize", job_id: jobId, ...rest });
    if (status !== 201) throw new Error(`${jobId}: ${status}`);
  };
  const lease = async (): Promise<string> => {
    const { body } = await call("POST", "/v1/leases", { agent: "a", timeout_ms: 0 });
    return String(body.lease_id);
  };
  await submit("cancelled", { priority: 3 });
  const gone = await lease();
  await submit("leased", { priority: 3 });
  const leaseId = await lease();
  await call("DELETE", "/v1/jobs/cancelled");
  await submit("queued", { payload: { width: 3 }, idempotency_key: "k" });
  await submit("succeeded", { priority: 3 });
  const done = await lease();
  await call("POST", "/v1/results", { lease_id: done, job_id: "succeeded", job_epoch: 1, status: "succeeded" });
  if (new Set([gone, leaseId, done]).size !== 3) throw new Error("there should be three leases");
  return { ...served, leaseId, past: { cancelled: gone, succeeded: done }, call };
}

/** All that there is of jobs and agents, and what has happened to them. */
async function stateOf({ app, node }: Scene): Promise<unknown> {
  const read = async (url: string): Promise<unknown> => (await app.inject({ url })).json<unknown>();
  const { generation } = await node.jobs.book.events(null, 1);
  const events = await node.jobs.book.events({ generation, id: 0 }, 1_000);
  return [await read("/v1/jobs"), await read("/v1/agents"), events];
}

const nested = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;
const job = (rest: Body) => (scene: Scene) => scene.call("POST", "/v1/jobs", { op: "resize", job_id: "new", ...rest });
const wish = (rest: Body) => (scene: Scene) => scene.call("POST", "/v1/leases", { agent: "a", timeout_ms: 0, ...rest });
const result = (rest: Body) => (scene: Scene) =>
  scene.call("POST", "/v1/results", {
    lease_id: scene.past[rest.job_id as keyof Scene["past"]] ?? scene.leaseId,
    job_id: "leased",
    job_epoch: 1,
    agent: "a",
    status: "succeeded",
    ...rest,
  });

const invalid = { status: 422, body: { error: "INVALID_REQUEST" } };
const tooLarge = { status: 413, body: { error: "BODY_TOO_LARGE" } };
const forbidden = { status: 403, body: { error: "FORBIDDEN" } };
const notFound = { status: 404, body: { error: "NOT_FOUND" } };
const stale = (field: string) => ({ status: 409, body: { error: "STALE_EPOCH", alias: "STALE_LEASE", field } });

/** Each case: what is wrong, the request, the stated error. */
const cases: [string, (scene: Scene) => Promise<Answer>, { readonly status: number; readonly body: Body }][] = [
  ["a job without an operation", job({ op: undefined }), invalid],
  ["an operation whose name is none", job({ op: "no such op!" }), invalid],
  ["an operation of another kind", job({ op: 7 }), invalid],
  ["a payload larger than a job takes", job({ payload: "x".repeat(jobLimits.payloadBytes) }), tooLarge],
  ["a body larger than the endpoint takes", job({ payload: "x".repeat(2_000_000) }), tooLarge],
  ["a payload nested too deep", job({ payload: JSON.parse(nested(129)) }), invalid],
  [
    "a payload nested so deep that nothing can go through it",
    (scene) => scene.call("POST", "/v1/jobs", `{"op":"resize","payload":${nested(25_000)}}`),
    invalid,
  ],
  ["a payload with half of a character", job({ payload: { name: "\ud800" } }), invalid],
  ["a negative priority", job({ priority: -1 }), invalid],
  ["a priority above the highest", job({ priority: 4 }), invalid],
  ["a priority that is no whole number", job({ priority: 1.5 }), invalid],
  ["an unknown field", job({ prio: 1 }), invalid],
  ["a field of the source's own names", job({ jobId: "x" }), invalid],
  ["no attempts at all", job({ max_attempts: 0 }), invalid],
  ["a timeout in the past", job({ timeout_ms: -1 }), invalid],
  ["a time that is none", job({ run_at: "tomorrow" }), invalid],
  ["a time of blanks", job({ run_at: "  " }), invalid],
  ["a key of no character", job({ idempotency_key: "\0" }), invalid],
  ["a key of half a character", job({ idempotency_key: "\ud800" }), invalid],
  [
    "more capabilities than an index takes",
    job({ capabilities: Array.from({ length: 32 }, (_, n) => `${n}`.padEnd(51, "x")) }),
    invalid,
  ],
  ["an empty key", job({ idempotency_key: "" }), invalid],
  [
    "more capabilities than a job may ask for",
    job({ capabilities: Array.from({ length: 33 }, (_, n) => `c${n}`) }),
    invalid,
  ],
  [
    "another job under an id that is taken",
    job({ job_id: "queued", payload: 1 }),
    { status: 409, body: { error: "REFUSED" } },
  ],
  [
    "another job under a key that is taken",
    job({ idempotency_key: "k", op: "crop" }),
    { status: 409, body: { error: "REFUSED" } },
  ],
  ["a job for an epoch that does not lead", job({ leader_epoch: 6 }), stale("leader_epoch")],
  [
    "a body that is no JSON",
    (scene) => scene.call("POST", "/v1/jobs", '{"op":'),
    { status: 400, body: { error: "BAD_REQUEST" } },
  ],
  [
    "a body of another kind",
    (scene) => scene.call("POST", "/v1/jobs", "op=resize", "application/x-www-form-urlencoded"),
    { status: 415, body: { error: "UNSUPPORTED_MEDIA_TYPE" } },
  ],

  ["a lease of no tasks", wish({ max_tasks: 0 }), invalid],
  ["a lease of more tasks than there may be", wish({ max_tasks: 65 }), invalid],
  ["a poll of negative length", wish({ timeout_ms: -1 }), invalid],
  ["a lease for nobody", wish({ agent: undefined }), invalid],
  ["a lease under an id that is none", wish({ lease_id: "mine" }), invalid],
  ["a lease for an epoch that does not lead", wish({ leader_epoch: 8 }), stale("leader_epoch")],

  [
    "a renewal of someone else's lease",
    (scene) => scene.call("POST", `/v1/leases/${scene.leaseId}/renew`, { agent: "b" }),
    forbidden,
  ],
  [
    "a renewal of a lease that there is not",
    (scene) => scene.call("POST", "/v1/leases/none/renew", { agent: "a" }),
    notFound,
  ],
  [
    "progress nested too deep",
    (scene) =>
      scene.call("POST", `/v1/leases/${scene.leaseId}/renew`, {
        agent: "a",
        progress: [{ job_id: "leased", progress: JSON.parse(nested(129)) as unknown }],
      }),
    invalid,
  ],

  ["a result under someone else's lease", result({ agent: "b" }), forbidden],
  ["a result under a lease that there is not", result({ lease_id: "none" }), forbidden],
  [
    "a result under the lease of another job",
    (scene) => result({ job_id: "cancelled", lease_id: scene.leaseId })(scene),
    forbidden,
  ],
  ["a result for a cancelled job", result({ job_id: "cancelled" }), stale("job_epoch")],
  ["a result of an older epoch", result({ job_epoch: 0 }), stale("job_epoch")],
  ["a result of an epoch that no database counts to", result({ job_epoch: 2 ** 31 }), invalid],
  ["a result of an epoch to come", result({ job_epoch: 2 }), stale("job_epoch")],
  ["a result for a job that nobody leased", result({ job_id: "queued", job_epoch: 0 }), stale("job_epoch")],
  [
    "another result for a job that has succeeded",
    result({ job_id: "succeeded", status: "failed", error: "no" }),
    stale("job_epoch"),
  ],
  ["a result for a job that there is not", result({ job_id: "none" }), notFound],
  ["a result that is none", result({ status: "done" }), invalid],
  ["a result larger than a job takes", result({ result: "x".repeat(jobLimits.payloadBytes) }), tooLarge],
  ["a result nested too deep", result({ result: JSON.parse(nested(129)) }), invalid],
  ["a result for an epoch that does not lead", result({ leader_epoch: 6 }), stale("leader_epoch")],

  ["a cancellation of a job that there is not", (scene) => scene.call("DELETE", "/v1/jobs/none"), notFound],
  [
    "a redrive of a job that waits",
    (scene) => scene.call("POST", "/v1/jobs/queued/redrive"),
    { status: 409, body: { error: "REFUSED" } },
  ],
  ["a heartbeat with a query", (scene) => scene.call("POST", "/v1/agents/heartbeat?x=1", { agent: "a" }), invalid],
  ["a heartbeat of nobody", (scene) => scene.call("POST", "/v1/agents/heartbeat", {}), invalid],
  ["the removal of an agent that there is not", (scene) => scene.call("DELETE", "/v1/agents/nobody"), notFound],
];

describe("bad input gets the stated error, and every job is as before:", () => {
  it.each(cases)("%s", async (_what, ask, expected) => {
    await using scene = await openScene();
    const before = await stateOf(scene);
    expect(await ask(scene)).toMatchObject(expected);
    expect(await stateOf(scene)).toEqual(before);
  });

  it("and what is right beside it still works", async () => {
    await using scene = await openScene();
    expect(await job({ payload: JSON.parse(nested(128)) })(scene)).toMatchObject({ status: 201 });
    expect(await result({ result: { ok: true } })(scene)).toMatchObject({ status: 200, body: { state: "succeeded" } });
  });
});
