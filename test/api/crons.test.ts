import { describe, expect, it } from "vitest";
import type { CronRow } from "../../src/store/cron-contract.js";
import { type Served, serve, serveOpen } from "./served.js";
import { awayAtOnce, StandInNode } from "./stand-in-node.js";

type Body = Record<string, unknown>;

const secondsAgo = (seconds: number): number => Math.floor(Date.now() / 1000 - seconds) * 1000;

function keep({ node }: Pick<Served, "node">, name: string, given: Partial<CronRow> = {}): void {
  node.cronTables.crons.set(name, {
    name,
    source: "settings",
    schedule: "0 4 * * *",
    timeZone: "Europe/Berlin",
    op: "report",
    payload: { secret: "hush" },
    policy: { kind: "coalesce" },
    generation: 3,
    paused: false,
    goneAt: null,
    lastTick: secondsAgo(60),
    ...given,
  });
}

/** With a cron called nightly; the term has begun, so it leaves the tables alone. */
async function serveNightly(): Promise<Served> {
  const served = await serveOpen();
  keep(served, "nightly");
  return served;
}

const get = async ({ app }: Served, url: string) => {
  const { statusCode: status, body } = await app.inject({ url });
  return { status, text: body, body: JSON.parse(body) as Body & { items: Body[]; next_cursor: string | null } };
};

const post = async ({ app }: Served, url: string, payload?: Body, headers: Record<string, string> = {}) => {
  const sent = payload === undefined ? {} : { payload };
  const answer = await app.inject({ method: "POST", url, headers, ...sent });
  return { status: answer.statusCode, body: answer.json<Body>() };
};

const acts = ["trigger", "pause", "resume"] as const;

describe("GET /v1/crons", () => {
  it("lists every cron with its next tick, on any node, and never a payload", async () => {
    await using served = await serveNightly();
    served.node.stand("STANDBY", "scheduler", "node-b");
    const lastTick = secondsAgo(5);
    keep(served, "catching", { policy: { kind: "catch_up", max: 7 }, source: "code", lastTick });
    keep(served, "resting", { paused: true });
    keep(served, "was", { goneAt: 1_750_000_000_500 });
    const { status, text, body } = await get(served, "/v1/crons");
    expect(status).toBe(200);
    expect(text).not.toContain("hush");
    expect(body.next_cursor).toBeNull();
    const [catching, nightly, resting, was] = body.items;
    expect(catching).toEqual({
      name: "catching",
      schedule: "0 4 * * *",
      time_zone: "Europe/Berlin",
      op: "report",
      missed: "catch_up",
      catch_up_max: 7,
      paused: false,
      source: "code",
      generation: 3,
      last_tick: lastTick / 1000,
      next_tick: expect.any(Number),
      gone_at: null,
    });
    expect(nightly).toMatchObject({ name: "nightly", missed: "coalesce", catch_up_max: null, source: "settings" });
    const next = new Date(Number(nightly?.next_tick) * 1000);
    expect(next.getTime()).toBeGreaterThan(Date.now());
    expect(next.toLocaleTimeString("en-GB", { timeZone: "Europe/Berlin" })).toBe("04:00:00");
    expect(resting).toMatchObject({ name: "resting", paused: true, next_tick: null });
    expect(was).toMatchObject({ name: "was", gone_at: 1_750_000_000.5, next_tick: null });
  });

  it("comes in pages", async () => {
    await using served = await serveNightly();
    keep(served, "a");
    keep(served, "z");
    const first = await get(served, "/v1/crons?limit=2");
    expect(first.body).toMatchObject({ items: [{ name: "a" }, { name: "nightly" }], next_cursor: "nightly" });
    const second = await get(served, "/v1/crons?limit=2&cursor=nightly");
    expect(second.body).toMatchObject({ items: [{ name: "z" }], next_cursor: null });
  });

  it.each(["?limit=0", "?cursor=nobody", "?paused=true"])("refuses %s", async (query) => {
    await using served = await serveNightly();
    expect(await get(served, `/v1/crons${query}`)).toMatchObject({ status: 422, body: { error: "INVALID_REQUEST" } });
  });

  it("says so where the database is away", async () => {
    await using served = await serveNightly();
    served.node.trouble = awayAtOnce;
    expect(await get(served, "/v1/crons")).toMatchObject({ status: 503, body: { error: "DATABASE_AWAY" } });
  });
});

describe("GET /v1/crons/{name}/history", () => {
  it("tells what became of its ticks, newest first, page by page, on any node", async () => {
    await using served = await serveNightly();
    const { ticks } = served.node.cronTables;
    const line = { cron: "nightly", tick: 1_750_000_000_000, decidedAt: 1_750_000_000_250, missed: 0 };
    ticks.push({ ...line, id: "1", kind: "coalesced", missed: 4, jobId: "j1" });
    ticks.push({ ...line, id: "2", kind: "skipped", jobId: null });
    ticks.push({ ...line, id: "3", kind: "triggered", jobId: "j3", cron: "another" });
    served.node.stand("STANDBY", "scheduler", "node-b");
    const first = await get(served, "/v1/crons/nightly/history?limit=1");
    expect(first.body).toEqual({
      items: [{ id: "2", tick: 1_750_000_000, decided_at: 1_750_000_000.25, kind: "skipped", missed: 0, job_id: null }],
      next_cursor: "2",
    });
    const second = await get(served, "/v1/crons/nightly/history?limit=1&cursor=2");
    expect(second.body).toMatchObject({
      items: [{ id: "1", kind: "coalesced", missed: 4, job_id: "j1" }],
      next_cursor: null,
    });
  });

  it("is empty for a cron whose first tick is to come, and 404 where there is no such cron", async () => {
    await using served = await serveNightly();
    expect(await get(served, "/v1/crons/nightly/history")).toMatchObject({ status: 200, body: { items: [] } });
    expect(await get(served, "/v1/crons/nobody/history")).toMatchObject({
      status: 404,
      body: { error: "NOT_FOUND", message: 'There is no cron "nobody".' },
    });
  });

  it.each([
    "nightly/history?limit=1001",
    "nightly/history?cursor=x",
    "nightly/history?kind=fired",
    "two%20words/history",
  ])("refuses %s", async (path) => {
    await using served = await serveNightly();
    expect(await get(served, `/v1/crons/${path}`)).toMatchObject({ status: 422, body: { error: "INVALID_REQUEST" } });
  });
});

describe("POST /v1/crons/{name}/trigger", () => {
  it("submits a job now, also of a cron that is paused, and notes it", async () => {
    await using served = await serveNightly();
    keep(served, "nightly", { paused: true });
    const { status, body } = await post(served, "/v1/crons/nightly/trigger");
    expect({ status, body }).toEqual({
      status: 201,
      body: { name: "nightly", job_id: expect.any(String), leader_epoch: 7 },
    });
    const job = await get(served, `/v1/jobs/${String(body.job_id)}`);
    expect(job.body).toMatchObject({ op: "report", state: "queued", cron: "nightly" });
    const history = await get(served, "/v1/crons/nightly/history");
    expect(history.body.items).toMatchObject([{ kind: "triggered", job_id: body.job_id }]);
  });
});

describe("POST /v1/crons/{name}/pause and /resume", () => {
  it("answer with the cron as it is now; asked again they change nothing", async () => {
    await using served = await serveNightly();
    const paused = { name: "nightly", paused: true, next_tick: null, generation: 4 };
    for (let asked = 0; asked < 2; asked += 1) {
      expect(await post(served, "/v1/crons/nightly/pause")).toMatchObject({ status: 200, body: paused });
    }
    const before = Date.now() / 1000;
    const resumed = await post(served, "/v1/crons/nightly/resume", {});
    expect(resumed).toMatchObject({ status: 200, body: { paused: false, generation: 5 } });
    // What fell into the pause is not made up for.
    expect(Number(resumed.body.last_tick)).toBeGreaterThanOrEqual(Math.floor(before));
    expect(Number(resumed.body.next_tick)).toBeGreaterThan(before);
    expect(await post(served, "/v1/crons/nightly/resume")).toMatchObject({ body: { generation: 5 } });
  });
});

describe("whatever steers a cron", () => {
  const untouched = ({ node }: Served): void => {
    expect(node.cronTables.crons.get("nightly")).toMatchObject({ generation: 3, paused: false });
    expect(node.cronTables.ticks).toEqual([]);
    expect(node.jobTables.jobs.size).toBe(0);
  };

  it.each(acts)("%s is 404 where there is no such cron, and 409 where the settings name it no more", async (act) => {
    await using served = await serveNightly();
    keep(served, "was", { goneAt: 1_750_000_000_000 });
    expect(await post(served, `/v1/crons/nobody/${act}`)).toMatchObject({
      status: 404,
      body: { error: "NOT_FOUND", message: 'There is no cron "nobody".' },
    });
    expect(await post(served, `/v1/crons/was/${act}`)).toMatchObject({
      status: 409,
      body: { error: "REFUSED", message: expect.stringContaining("gone") as string },
    });
    expect(served.node.cronTables.crons.get("was")).toMatchObject({ generation: 3, paused: false });
    untouched(served);
  });

  it.each(acts)("%s refuses what it does not know, and changes nothing", async (act) => {
    await using served = await serveNightly();
    const refused = { status: 422, body: { error: "INVALID_REQUEST" } };
    expect(await post(served, `/v1/crons/nightly/${act}`, { at: 1 })).toMatchObject(refused);
    expect(await post(served, `/v1/crons/nightly/${act}`, { leader_epoch: "7" })).toMatchObject(refused);
    expect(await post(served, `/v1/crons/nightly/${act}?force=1`)).toMatchObject(refused);
    expect(await post(served, `/v1/crons/night%20ly/${act}`)).toMatchObject(refused);
    untouched(served);
  });

  it.each(acts)("%s under another epoch than the one that was stated is stale", async (act) => {
    await using served = await serveNightly();
    expect(await post(served, `/v1/crons/nightly/${act}`, { leader_epoch: 6 })).toEqual({
      status: 409,
      body: { error: "STALE_EPOCH", alias: "STALE_LEASE", field: "leader_epoch", expected: 7, got: 6 },
    });
    untouched(served);
    expect((await post(served, `/v1/crons/nightly/${act}`, { leader_epoch: 7 })).status).toBeLessThan(300);
  });

  it.each(acts)("%s is the leader's: elsewhere the answer names it, before the body is looked at", async (act) => {
    await using served = await serveNightly();
    served.node.stand("STANDBY", "scheduler", "node-b");
    expect(await post(served, `/v1/crons/nobody/${act}`, { nonsense: true })).toEqual({
      status: 409,
      body: {
        error: "NOT_LEADER",
        leader_id: "node-b",
        leader_url: "http://node-b:7400",
        leader_epoch: 7,
        node_id: "node-a",
        role: "STANDBY",
      },
    });
    served.node.stand("DRAINING");
    expect(await post(served, `/v1/crons/nightly/${act}`)).toMatchObject({ status: 503, body: { error: "DRAINING" } });
    untouched(served);
  });

  it.each(acts)("%s sends nothing to a database that is away", async (act) => {
    await using served = await serveNightly();
    served.node.ready.database = false;
    expect(await post(served, `/v1/crons/nightly/${act}`)).toMatchObject({
      status: 503,
      body: { error: "DATABASE_AWAY" },
    });
    untouched(served);
  });

  it.each(acts)("%s takes control, and is a line in the audit", async (act) => {
    const node = new StandInNode();
    const viewer = await node.bearer("viewer");
    const agent = await node.bearer("agent");
    const operator = await node.bearer("operator");
    await using served = serve(node);
    keep(served, "nightly");
    const url = `/v1/crons/nightly/${act}`;
    expect((await post(served, url)).status).toBe(401);
    for (const headers of [viewer, agent]) expect((await post(served, url, {}, headers)).status).toBe(403);
    untouched(served);
    const { status } = await post(served, url, {}, operator);
    expect(status).toBe(act === "trigger" ? 201 : 200);
    expect(node.auditRows[0]).toMatchObject({
      actor: "operator-token",
      action: `POST /v1/crons/:name/${act}`,
      target: "nightly",
      outcome: String(status),
    });
  });
});
