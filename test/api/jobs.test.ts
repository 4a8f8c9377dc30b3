import { describe, expect, it } from "vitest";
import { listen, type Served, serve, serveOpen } from "./served.js";
import { awayAtOnce, StandInNode } from "./stand-in-node.js";

type Body = Record<string, unknown>;

const post = async ({ app }: Served, url: string, payload: unknown = {}, headers: Record<string, string> = {}) => {
  const { statusCode: status, body } = await app.inject({ method: "POST", url, payload: payload as Body, headers });
  return { status, body: (body === "" ? null : JSON.parse(body)) as Body };
};
const get = async ({ app }: Served, url: string) => {
  const { statusCode: status, body } = await app.inject({ url });
  return { status, body: JSON.parse(body) as Body & { items: Body[]; next_cursor: string | null } };
};
const submit = (served: Served, body: Body = {}) => post(served, "/v1/jobs", { op: "resize", job_id: "j", ...body });

describe("POST /v1/jobs", () => {
  it("submits a job, and answers with 201 and its epochs", async () => {
    await using served = await serveOpen();
    const answer = await post(served, "/v1/jobs", { op: "resize", payload: { width: 3 } });
    expect(answer).toEqual({
      status: 201,
      body: { job_id: expect.any(String), job_epoch: 0, leader_epoch: 7, state: "queued" },
    });
    const job = await get(served, `/v1/jobs/${String(answer.body.job_id)}`);
    expect(job).toEqual({
      status: 200,
      body: {
        job_id: answer.body.job_id,
        op: "resize",
        namespace: "default",
        state: "queued",
        priority: 1,
        attempts: 0,
        max_attempts: 5,
        job_epoch: 0,
        leader_epoch: 7,
        agent: null,
        progress: null,
        result: null,
        error: null,
        created_at: expect.any(Number),
        updated_at: expect.any(Number),
        run_at: null,
        timeout_ms: 3_600_000,
        capabilities: [],
        pinned_agent: null,
        idempotency_key: null,
        cron: null,
      },
    });
  });

  it("makes no second job of the same id or key, and refuses another job under it", async () => {
    await using served = await serveOpen();
    expect((await submit(served, { idempotency_key: "k" })).status).toBe(201);
    expect(await submit(served)).toMatchObject({ status: 200, body: { job_id: "j", state: "queued" } });
    const byKey = await post(served, "/v1/jobs", { op: "resize", idempotency_key: "k" });
    expect(byKey).toMatchObject({ status: 200, body: { job_id: "j" } });
    expect(await submit(served, { payload: 1 })).toMatchObject({ status: 409, body: { error: "REFUSED" } });
    expect((await get(served, "/v1/jobs")).body.items).toHaveLength(1);
  });

  it("takes many at once, with an answer each", async () => {
    await using served = await serveOpen();
    await submit(served);
    const jobs = [{ op: "a", job_id: "a" }, { op: "other", job_id: "j" }, { op: "b" }];
    const { status, body } = await post(served, "/v1/jobs", { jobs });
    expect(status).toBe(201);
    expect(body.jobs).toEqual([
      { job_id: "a", job_epoch: 0, leader_epoch: 7, state: "queued" },
      { job_id: "j", error: "REFUSED", message: expect.stringContaining("already") as string },
      { job_id: expect.any(String), job_epoch: 0, leader_epoch: 7, state: "queued" },
    ]);
  });

  it.each([
    [{}, "op is missing"],
    [{ op: "x", colour: "red" }, "colour is not a field here"],
    [{ op: "x", priority: -1 }, "priority"],
    [{ op: "x", priority: "1" }, "priority"],
    [{ op: "two words" }, "op"],
    [{ op: "x", run_at: "tomorrow" }, "run_at"],
    [{ op: "x", run_at: 1e15 }, "run_at"],
    [{ op: "x", payload: "\0" }, "payload"],
    [{ op: "x", capabilities: Array.from({ length: 33 }, (_, n) => `c${n}`) }, "capabilities"],
    [{ jobs: [] }, "jobs"],
    [{ jobs: [{ op: "x" }, { op: "y", colour: 1 }] }, "jobs.1.colour is not a field here"],
    [{ jobs: Array.from({ length: 501 }, () => ({ op: "x" })) }, "jobs must not have more than 500 items"],
  ] as [Body, string][])("refuses %j", async (body, problem) => {
    await using served = await serveOpen();
    const answer = await post(served, "/v1/jobs", body);
    expect(answer).toMatchObject({ status: 422, body: { error: "INVALID_REQUEST" } });
    expect(answer.body.message).toContain(problem);
    expect((await get(served, "/v1/jobs")).body.items).toEqual([]);
  });

  it("refuses a payload that is too large, and a body", async () => {
    await using served = await serveOpen();
    expect((await post(served, "/v1/jobs", { op: "x", payload: "x".repeat(300_000) })).status).toBe(413);
    expect((await post(served, "/v1/jobs", { op: "x", payload: "x".repeat(1_100_000) })).status).toBe(413);
  });

  it("checks the leader's epoch that the caller states, in the exact shape, before it does anything", async () => {
    await using served = await serveOpen();
    const stale = { error: "STALE_EPOCH", alias: "STALE_LEASE", field: "leader_epoch", expected: 7, got: 6 };
    const refused = { status: 409, body: stale };
    expect(await submit(served, { leader_epoch: 6 })).toEqual(refused);
    expect(await post(served, "/v1/jobs", { jobs: [{ op: "x" }], leader_epoch: 6 })).toEqual(refused);
    expect(await post(served, "/v1/leases", { agent: "a", leader_epoch: 6 })).toEqual(refused);
    expect(await post(served, "/v1/leases/l/renew", { agent: "a", leader_epoch: 6 })).toEqual(refused);
    const result = { lease_id: "l", job_id: "j", job_epoch: 1, status: "succeeded", leader_epoch: 6 };
    expect(await post(served, "/v1/results", result)).toEqual(refused);
    expect(await post(served, "/v1/agents/heartbeat", { agent: "a", leader_epoch: 6 })).toEqual(refused);
    // What is malformed is so under every epoch.
    expect((await submit(served, { leader_epoch: 6, colour: 1 })).status).toBe(422);
    expect((await submit(served, { leader_epoch: 7 })).status).toBe(201);
  });

  it("says 503 while the database is away, and leaves nothing behind", async () => {
    await using served = await serveOpen();
    served.node.ready.database = false;
    expect(await submit(served)).toMatchObject({ status: 503, body: { error: "DATABASE_AWAY" } });
    served.node.trouble = awayAtOnce;
    expect(await get(served, "/v1/jobs/j")).toMatchObject({ status: 503, body: { error: "DATABASE_AWAY" } });
  });

  it("leaves no line in the audit, but a refusal does, and so does what an operator does to a job", async () => {
    const node = new StandInNode();
    await using served = serve(node);
    const operator = await node.bearer("operator");
    const agent = await node.bearer("agent");
    const headers = { "content-type": "application/json" };
    await post(served, "/v1/jobs", { op: "x", job_id: "j" }, { ...headers, ...operator });
    expect(node.auditRows).toEqual([]);
    await post(served, "/v1/jobs", { op: "x" }, { ...headers, ...agent });
    await served.app.inject({ method: "DELETE", url: "/v1/jobs/j", headers: operator });
    expect(node.auditRows.map(({ action, target, outcome }) => [action, target, outcome])).toEqual([
      ["DELETE /v1/jobs/:id", "j", "200"],
      ["POST /v1/jobs", null, "403"],
    ]);
  });
});

describe("GET /v1/jobs", () => {
  it("lists the newest first, in pages, by what is asked for", async () => {
    await using served = await serveOpen();
    for (const n of [1, 2, 3, 4, 5]) await submit(served, { job_id: `j${n}`, op: n % 2 === 0 ? "even" : "odd" });
    await submit(served, { job_id: "n", namespace: "other" });
    const seen: unknown[] = [];
    for (let cursor = ""; ; ) {
      const { body } = await get(served, `/v1/jobs?namespace=default&limit=2${cursor}`);
      seen.push(...body.items.map(({ job_id }) => job_id));
      if (body.next_cursor === null) break;
      cursor = `&cursor=${body.next_cursor}`;
    }
    expect(seen).toEqual(["j5", "j4", "j3", "j2", "j1"]);
    const idsOf = async (query: string) =>
      (await get(served, `/v1/jobs?${query}`)).body.items.map(({ job_id }) => job_id);
    expect(await idsOf("op=even")).toEqual(["j4", "j2"]);
    expect(await idsOf("state=dead")).toEqual([]);
    expect(await idsOf("agent=nobody")).toEqual([]);
    expect(await idsOf("since=2100-01-01T00:00:00Z")).toEqual([]);
    expect(await idsOf("since=0&limit=1")).toEqual(["n"]);
    for (const query of ["state=odd", "cursor=x", "since=soon", "colour=red"]) {
      expect((await get(served, `/v1/jobs?${query}`)).status, query).toBe(422);
    }
  });
});

describe("GET /v1/jobs/{id}", () => {
  it("is 404 for one that does not exist, also where it would wait", async () => {
    await using served = await serveOpen();
    expect(await get(served, "/v1/jobs/none?wait_ms=60000")).toMatchObject({
      status: 404,
      body: { error: "NOT_FOUND" },
    });
  });

  it("waits for the job's end, and answers as it is after its time", async () => {
    await using served = await serveOpen();
    await submit(served);
    expect((await get(served, "/v1/jobs/j?wait_ms=20")).body.state).toBe("queued");
    const waiting = get(served, "/v1/jobs/j?wait_ms=60000");
    await served.app.inject({ method: "DELETE", url: "/v1/jobs/j" });
    expect((await waiting).body.state).toBe("cancelled");
    expect((await get(served, "/v1/jobs/j?wait_ms=120001")).status).toBe(422);
  });
});

it("a wait for a job's end does not hold up the close of the server", async () => {
  await using served = await listen({}, { closeGraceMs: 60_000 });
  await served.node.jobs.submit([{ op: "x", jobId: "j" }]);
  const waiting = fetch(`${served.server.url}/v1/jobs/j?wait_ms=60000`);
  await expect.poll(() => served.node.jobs.events.listeners).toBe(1);
  await served.server.close();
  expect(await (await waiting).json()).toMatchObject({ state: "queued" });
});

describe("what operators do to jobs", () => {
  it("cancels, once and for all, and redrives", async () => {
    await using served = await serveOpen();
    await submit(served);
    const cancel = async (id: string) => await served.app.inject({ method: "DELETE", url: `/v1/jobs/${id}` });
    expect((await cancel("j")).json()).toEqual({ job_id: "j", state: "cancelled", leader_epoch: 7 });
    expect((await cancel("j")).statusCode).toBe(200);
    expect((await cancel("none")).json()).toMatchObject({ error: "NOT_FOUND" });
    expect(await post(served, "/v1/jobs/j/redrive")).toEqual({
      status: 200,
      body: { job_id: "j", state: "queued", leader_epoch: 7 },
    });
    expect(await post(served, "/v1/jobs/j/redrive")).toMatchObject({ status: 409, body: { error: "REFUSED" } });
    expect((await post(served, "/v1/jobs/none/redrive")).status).toBe(404);
  });
});
