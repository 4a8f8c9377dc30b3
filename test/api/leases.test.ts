import { describe, expect, it } from "vitest";
import { listen, type Served, serve, serveOpen } from "./served.js";
import { StandInNode } from "./stand-in-node.js";

type Body = Record<string, unknown>;
interface Lease {
  readonly lease_id: string;
  readonly tasks: readonly { readonly job_id: string; readonly job_epoch: number }[];
}

const post = async ({ app }: Served, url: string, payload: unknown = {}, headers: Record<string, string> = {}) => {
  const { statusCode: status, body } = await app.inject({ method: "POST", url, payload: payload as Body, headers });
  return { status, body: (body === "" ? null : JSON.parse(body)) as Body };
};
const submit = (served: Served, jobId = "j", rest: Body = {}) =>
  post(served, "/v1/jobs", { op: "resize", job_id: jobId, payload: { width: 3 }, ...rest });
const lease = async (served: Served, body: Body = {}) => {
  const answer = await post(served, "/v1/leases", { agent: "a", timeout_ms: 0, ...body });
  return { ...answer, body: answer.body as unknown as Lease };
};
const stateOf = async ({ app }: Served, id = "j") => (await app.inject({ url: `/v1/jobs/${id}` })).json<Body>();

describe("POST /v1/leases", () => {
  it("answers with tasks in the exact shape, or 204 where there are none", async () => {
    await using served = await serveOpen();
    expect(await lease(served)).toEqual({ status: 204, body: null });
    await submit(served);
    expect(await lease(served, { max_tasks: 64 })).toEqual({
      status: 200,
      body: {
        lease_id: expect.any(String),
        leader_epoch: 7,
        expires_at: expect.any(Number),
        ttl_ms: 60_000,
        tasks: [
          {
            job_id: "j",
            job_epoch: 1,
            op: "resize",
            payload: { width: 3 },
            namespace: "default",
            attempt: 1,
            max_attempts: 5,
            timeout_ms: 3_600_000,
          },
        ],
      },
    });
    expect(await stateOf(served)).toMatchObject({ state: "leased", agent: "a", attempts: 1, job_epoch: 1 });
  });

  it("hands payloads on as they came, in one answer of JSON", async () => {
    await using served = await serveOpen();
    const payloads = [
      null,
      "",
      '"]}',
      { deep: ["\u00fc", "\u{1f600}", "\u001e", "\u2028", [], {}] },
      1.5e-7,
      [[false]],
    ];
    for (const [n, payload] of payloads.entries()) await submit(served, `j-${n}`, { payload });
    const wish = { agent: "a", timeout_ms: 0, max_tasks: 64 };
    const { headers, body, rawPayload } = await served.app.inject({ method: "POST", url: "/v1/leases", payload: wish });
    expect(headers).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "content-length": `${rawPayload.length}`,
    });
    const { tasks } = JSON.parse(body) as { readonly tasks: readonly { readonly payload: unknown }[] };
    expect(tasks.map(({ payload }) => payload)).toEqual(payloads);
  });

  it("answers with the same lease when it is asked for again by its id, and it costs no attempt", async () => {
    await using served = await serveOpen();
    const leaseId = "0191d0a0-0000-7000-8000-00000000000A";
    const again = () => lease(served, { lease_id: leaseId, max_tasks: 64 });
    expect((await again()).status).toBe(204);
    await submit(served);
    const first = await again();
    expect(first).toMatchObject({ status: 200, body: { lease_id: leaseId.toLowerCase(), tasks: [{ job_id: "j" }] } });
    await submit(served, "later");
    expect(await again()).toEqual(first);
    expect(await stateOf(served)).toMatchObject({ state: "leased", attempts: 1, job_epoch: 1 });
    expect(await stateOf(served, "later")).toMatchObject({ state: "queued" });
    expect(await lease(served, { lease_id: leaseId, agent: "b" })).toMatchObject({
      status: 403,
      body: { error: "FORBIDDEN" },
    });
    for (const bad of ["", "mine", `${leaseId}0`, 7]) {
      expect(await lease(served, { lease_id: bad })).toMatchObject({ status: 422, body: { error: "INVALID_REQUEST" } });
    }
    expect(await stateOf(served)).toMatchObject({ state: "leased", agent: "a", attempts: 1 });
  });

  it("waits for a job that suits the agent", async () => {
    await using served = await serveOpen();
    const able = lease(served, { agent: "able", capabilities: ["gpu"], timeout_ms: 60_000 });
    const plain = lease(served, { agent: "plain", timeout_ms: 60_000 });
    await expect.poll(() => served.node.jobs.waitingAgents).toBe(2);
    await submit(served, "hard", { capabilities: ["gpu"] });
    expect((await able).body.tasks).toMatchObject([{ job_id: "hard" }]);
    await submit(served, "pinned", { pinned_agent: "plain" });
    expect((await plain).body.tasks).toMatchObject([{ job_id: "pinned" }]);
  });

  it("gives a job to nobody whose connection has gone", async () => {
    await using served = await listen();
    const gone = new AbortController();
    const asked = fetch(`${served.server.url}/v1/leases`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ agent: "a", timeout_ms: 60_000 }),
      signal: gone.signal,
    });
    asked.catch(() => undefined);
    await expect.poll(() => served.node.jobs.waitingAgents).toBe(1);
    gone.abort();
    await expect.poll(() => served.node.jobs.waitingAgents).toBe(0);
    await served.node.jobs.submit([{ op: "x", jobId: "j" }]);
    expect(await served.node.jobs.book.job("j")).toMatchObject({ state: "queued", jobEpoch: 0 });
  });

  it("sends those who wait elsewhere when the leader drains, with 503", async () => {
    await using served = await serveOpen();
    const waiting = lease(served, { timeout_ms: 60_000 });
    await expect.poll(() => served.node.jobs.waitingAgents).toBe(1);
    served.node.stopping.abort();
    expect(await waiting).toMatchObject({ status: 503, body: { error: "DRAINING" } });
  });

  it.each([
    [{ agent: undefined }, "agent is missing"],
    [{ agent: "a b" }, "agent"],
    [{ max_tasks: 0 }, "max_tasks"],
    [{ max_tasks: 65 }, "max_tasks"],
    [{ timeout_ms: 120_001 }, "timeout_ms"],
    [{ timeout_ms: -1 }, "timeout_ms"],
    [{ colour: "red" }, "colour is not a field here"],
  ] as [Body, string][])("refuses %j", async (body, problem) => {
    await using served = await serveOpen();
    await submit(served);
    const answer = await lease(served, body);
    expect(answer).toMatchObject({ status: 422, body: { error: "INVALID_REQUEST" } });
    expect(JSON.stringify(answer.body)).toContain(problem);
    expect(await stateOf(served)).toMatchObject({ state: "queued" });
  });
});

describe("a lease", () => {
  it("is renewed with how far its tasks are, and says what it still holds", async () => {
    await using served = await serveOpen();
    await submit(served, "j");
    await submit(served, "k");
    const { lease_id: id } = (await lease(served, { max_tasks: 2 })).body;
    const renewed = await post(served, `/v1/leases/${id}/renew`, {
      progress: [{ job_id: "j", progress: { done: 0.5 } }],
    });
    expect(renewed).toEqual({
      status: 200,
      body: { lease_id: id, leader_epoch: 7, expires_at: expect.any(Number), ttl_ms: 60_000, job_ids: ["j", "k"] },
    });
    expect(await stateOf(served)).toMatchObject({ progress: { done: 0.5 } });
    await served.app.inject({ method: "DELETE", url: "/v1/jobs/j" });
    expect((await post(served, `/v1/leases/${id}/renew`)).body.job_ids).toEqual(["k"]);
    expect((await post(served, "/v1/leases/none/renew", { agent: "a" })).status).toBe(404);
    expect((await post(served, `/v1/leases/${id}/renew`, { agent: "b" })).status).toBe(403);
    expect((await post(served, "/v1/leases/none/renew")).body.message).toContain("agent is missing");
  });

  it("is given back, whole or in part, and costs no attempt", async () => {
    await using served = await serveOpen();
    await submit(served, "j");
    await submit(served, "k");
    const { lease_id: id } = (await lease(served, { max_tasks: 2 })).body;
    const url = `/v1/leases/${id}/give-back`;
    expect((await post(served, url, { job_ids: ["k"] })).body).toEqual({ lease_id: id, job_ids: ["k"] });
    expect((await post(served, url)).body).toEqual({ lease_id: id, job_ids: ["j"] });
    expect(await stateOf(served)).toMatchObject({ state: "queued", attempts: 0, job_epoch: 1 });
  });
});

describe("POST /v1/results", () => {
  const leased = async (served: Served, jobId = "j", agent = "a") => {
    await submit(served, jobId);
    const { body } = await lease(served, { agent });
    return { lease_id: body.lease_id, job_id: jobId, job_epoch: 1 };
  };

  it("ends a job, once: the same again is accepted and changes nothing", async () => {
    await using served = await serveOpen();
    const told = { ...(await leased(served)), status: "succeeded", result: { size: 9 } };
    const accepted = { job_id: "j", job_epoch: 1, state: "succeeded" };
    expect(await post(served, "/v1/results", told)).toEqual({ status: 200, body: { ...accepted, repeated: false } });
    expect(await post(served, "/v1/results", told)).toEqual({ status: 200, body: { ...accepted, repeated: true } });
    expect(await stateOf(served)).toMatchObject({ state: "succeeded", result: { size: 9 } });
  });

  it("of a failure queues the job again, or ends it where no attempt would help", async () => {
    await using served = await serveOpen();
    const told = { ...(await leased(served)), status: "failed", error: "no such file" };
    expect((await post(served, "/v1/results", told)).body).toMatchObject({ state: "queued" });
    expect(await stateOf(served)).toMatchObject({ error: "no such file", run_at: expect.any(Number) as number });
    const other = { ...(await leased(served, "k")), status: "failed", retry: false };
    expect((await post(served, "/v1/results", other)).body).toMatchObject({ state: "failed" });
  });

  it("is refused with the exact shape where the job's epoch is stale, and changes nothing", async () => {
    await using served = await serveOpen();
    const told = { ...(await leased(served)), status: "succeeded", result: 1 };
    await post(served, `/v1/leases/${told.lease_id}/give-back`);
    await lease(served, { agent: "b" });
    const stale = { error: "STALE_EPOCH", alias: "STALE_LEASE", field: "job_epoch", expected: 2, got: 1 };
    expect(await post(served, "/v1/results", told)).toEqual({ status: 409, body: stale });
    expect(await stateOf(served)).toMatchObject({ state: "leased", agent: "b", result: null });
  });

  it("changes nothing of a job that was cancelled, is unknown, or is another's", async () => {
    await using served = await serveOpen();
    const told = { ...(await leased(served)), status: "succeeded" };
    expect((await post(served, "/v1/results", { ...told, job_id: "none" })).status).toBe(404);
    expect(await post(served, "/v1/results", { ...told, agent: "b" })).toMatchObject({
      status: 403,
      body: { error: "FORBIDDEN" },
    });
    expect(await stateOf(served)).toMatchObject({ state: "leased", agent: "a" });
    await served.app.inject({ method: "DELETE", url: "/v1/jobs/j" });
    expect((await post(served, "/v1/results", told)).body).toMatchObject({ error: "STALE_EPOCH", field: "job_epoch" });
    expect(await stateOf(served)).toMatchObject({ state: "cancelled" });
  });

  it("come many at once, with an answer each", async () => {
    await using served = await serveOpen();
    const [one, two] = [await leased(served, "j"), await leased(served, "k")];
    await served.app.inject({ method: "DELETE", url: "/v1/jobs/k" });
    const results = [one, two, { ...one, job_id: "none" }].map((each) => ({ ...each, status: "succeeded" }));
    expect(await post(served, "/v1/results", { results })).toEqual({
      status: 200,
      body: {
        results: [
          { job_id: "j", job_epoch: 1, state: "succeeded", repeated: false },
          {
            job_id: "k",
            job_epoch: 1,
            error: "STALE_EPOCH",
            alias: "STALE_LEASE",
            field: "job_epoch",
            expected: 2,
            got: 1,
          },
          { job_id: "none", job_epoch: 1, error: "NOT_FOUND", message: 'There is no job "none".' },
        ],
      },
    });
  });

  it("are taken by a leader that drains, and nothing new is", async () => {
    await using served = await serveOpen();
    const told = { ...(await leased(served)), status: "succeeded" };
    served.node.stand("DRAINING");
    expect(await submit(served, "new")).toMatchObject({ status: 503, body: { error: "DRAINING" } });
    expect(await lease(served)).toMatchObject({ status: 503, body: { error: "DRAINING" } });
    expect((await post(served, `/v1/leases/${told.lease_id}/renew`)).status).toBe(200);
    expect((await post(served, "/v1/results", told)).status).toBe(200);
  });
});

describe("an agent's token", () => {
  it("speaks for the agent of its name alone", async () => {
    const node = new StandInNode();
    await using served = serve(node);
    const own = { authorization: `Bearer ${await node.token("agent", [], "a")}` };
    const other = { authorization: `Bearer ${await node.token("agent", [], "b")}` };
    await node.jobs.submit([{ op: "x", jobId: "j" }]);
    const wish = { agent: "a", timeout_ms: 0 };
    const refused = { status: 403, body: { error: "FORBIDDEN" } };
    expect(await post(served, "/v1/leases", wish, other)).toMatchObject(refused);
    expect(await post(served, "/v1/agents/heartbeat", { agent: "a" }, other)).toMatchObject(refused);
    const { body } = await post(served, "/v1/leases", wish, own);
    const id = String(body.lease_id);
    const told = { lease_id: id, job_id: "j", job_epoch: 1, status: "succeeded" };
    expect(await post(served, `/v1/leases/${id}/renew`, {}, other)).toMatchObject(refused);
    expect(await post(served, `/v1/leases/${id}/renew`, { agent: "a" }, other)).toMatchObject(refused);
    expect(await post(served, "/v1/results", told, other)).toMatchObject(refused);
    expect(await post(served, "/v1/results", { ...told, agent: "a" }, other)).toMatchObject(refused);
    expect(await node.jobs.book.job("j")).toMatchObject({ state: "leased", agent: "a" });
    expect((await post(served, "/v1/results", told, own)).status).toBe(200);
  });
});

describe("agents", () => {
  it("are listed with what they said and how they are", async () => {
    await using served = await serveOpen();
    const beat = { agent: "a", capabilities: ["gpu"], version: "1.2", tasks: 2, registers: true };
    expect((await post(served, "/v1/agents/heartbeat", beat)).body).toEqual({
      agent: "a",
      state: "active",
      leader_epoch: 7,
    });
    const list = async (query = "") =>
      (await served.app.inject({ url: `/v1/agents${query}` })).json<{ items: Body[]; next_cursor: null }>();
    expect(await list()).toEqual({
      items: [
        {
          agent: "a",
          namespace: "default",
          state: "active",
          capabilities: ["gpu"],
          tasks: 2,
          version: "1.2",
          first_seen: expect.any(Number),
          last_heartbeat: expect.any(Number),
          deleted_at: null,
        },
      ],
      next_cursor: null,
    });
    const agent = served.node.jobTables.agents.get("a");
    for (const [silentMs, state] of [
      [46_000, "stale"],
      [121_000, "dead"],
    ] as const) {
      if (agent !== undefined) agent.lastHeartbeat = Date.now() - silentMs;
      expect((await list()).items).toMatchObject([{ state }]);
    }
    expect((await list("?state=active")).items).toEqual([]);
  });

  it("that are deleted get nothing until they register anew, and what they had goes to others", async () => {
    await using served = await serveOpen();
    await post(served, "/v1/agents/heartbeat", { agent: "a", registers: true });
    await submit(served);
    await lease(served);
    const deleted = await served.app.inject({ method: "DELETE", url: "/v1/agents/a" });
    expect(deleted.json()).toEqual({ agent: "a", state: "deleted", leader_epoch: 7 });
    expect(await stateOf(served)).toMatchObject({ state: "queued", attempts: 0 });
    const gone = { status: 410, body: { error: "AGENT_DELETED" } };
    expect(await lease(served)).toMatchObject(gone);
    expect(await post(served, "/v1/agents/heartbeat", { agent: "a" })).toMatchObject(gone);
    expect((await post(served, "/v1/agents/heartbeat", { agent: "a", registers: true })).status).toBe(200);
    expect((await lease(served)).status).toBe(200);
    expect((await served.app.inject({ method: "DELETE", url: "/v1/agents/none" })).statusCode).toBe(404);
  });
});
