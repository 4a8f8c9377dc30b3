import { describe, expect, it } from "vitest";
import { hashToken } from "../../src/access/token.js";
import { serve, serveOpen } from "./served.js";
import { awayAtOnce, StandInNode } from "./stand-in-node.js";

const tokenKeys = ["id", "name", "role", "grants", "created_at", "created_by", "expires_at", "revoked_at"];

describe("tokens over HTTP", () => {
  it("are made with a secret that is shown once, and never with a hash", async () => {
    const node = new StandInNode();
    const headers = await node.bearer("admin");
    await using served = serve(node);
    const payload = { name: "ci", role: "viewer", grants: ["audit:read"], expires_in_seconds: 60 };
    const made = await served.app.inject({ method: "POST", url: "/tokens", headers, payload });
    expect(made.statusCode).toBe(201);
    const body = made.json<{ token: Record<string, unknown>; secret: string }>();
    expect(Object.keys(body)).toEqual(["token", "secret"]);
    expect(Object.keys(body.token)).toEqual(tokenKeys);
    expect(body.token).toMatchObject({ name: "ci", role: "viewer", grants: ["audit:read"], created_by: "admin-token" });
    expect(body.token.expires_at).toBeCloseTo((body.token.created_at as number) + 60, 3);
    expect(body.secret).toMatch(/^hf_/);
    const listed = await served.app.inject({ url: "/tokens", headers });
    const { items } = listed.json<{ items: Record<string, unknown>[] }>();
    expect(items.map(({ name }) => name)).toEqual(["ci", "admin-token"]);
    for (const answer of [made, listed]) expect(answer.body).not.toContain(hashToken(body.secret));
    expect(listed.body).not.toContain(body.secret);
    const hers = await served.app.inject({ url: "/audit", headers: { authorization: `Bearer ${body.secret}` } });
    expect(hers.statusCode).toBe(200);
  });

  it("are revoked, and one that is not there is not found", async () => {
    const node = new StandInNode();
    const headers = await node.bearer("admin");
    await node.token("agent");
    await using served = serve(node);
    const revoked = await served.app.inject({ method: "DELETE", url: "/tokens/2", headers });
    expect(revoked.statusCode).toBe(200);
    expect(revoked.json()).toMatchObject({ token: { id: "2", revoked_at: expect.any(Number) } });
    expect((await served.app.inject({ method: "DELETE", url: "/tokens/9", headers })).json()).toMatchObject({
      error: "NOT_FOUND",
    });
  });

  it("come in pages, newest first", async () => {
    const node = new StandInNode();
    const headers = await node.bearer("admin");
    for (const name of ["b", "c"]) await node.token("viewer", [], name);
    await using served = serve(node);
    const first = await served.app.inject({ url: "/tokens?limit=2", headers });
    expect(first.json()).toMatchObject({ items: [{ id: "3" }, { id: "2" }], next_cursor: "2" });
    const second = await served.app.inject({ url: "/tokens?limit=2&cursor=2", headers });
    expect(second.json()).toMatchObject({ items: [{ id: "1" }], next_cursor: null });
    expect((await served.app.inject({ url: "/tokens?cursor=77", headers })).statusCode).toBe(422);
  });

  it.each([
    { name: "", role: "viewer" },
    { name: "x".repeat(101), role: "viewer" },
    { name: "line\nbreak", role: "viewer" },
    { name: " padded", role: "viewer" },
    { name: "anyone", role: "viewer" },
    { name: "x", role: "root" },
    { name: "x", role: "viewer", grants: ["tokens"] },
    { name: "x", role: "viewer", grants: ["audit:read", "audit:read"] },
    { name: "x", role: "viewer", expires_in_seconds: 0 },
    { name: "x", role: "viewer", expires_in_seconds: 1e12 },
    { name: "x", role: "viewer", hash: "0" },
  ])("are not made of %j", async (payload) => {
    await using served = await serveOpen();
    const answer = await served.app.inject({ method: "POST", url: "/tokens", payload });
    expect(answer.statusCode).toBe(422);
    expect(await served.node.access.tokens()).toEqual([]);
  });

  it("may have a name in any script", async () => {
    await using served = await serveOpen();
    const payload = { name: "Büro 東京", role: "viewer" };
    expect((await served.app.inject({ method: "POST", url: "/tokens", payload })).statusCode).toBe(201);
  });

  it("are not sent to a database that is away, and may have been made by one that stopped answering", async () => {
    await using served = await serveOpen({}, { databaseWaitMs: 20 });
    const { app, node } = served;
    const request = { method: "POST", url: "/tokens", payload: { name: "x", role: "viewer" } } as const;
    node.access.create = async () => await new Promise<never>(() => undefined);
    expect((await app.inject(request)).json()).toMatchObject({ error: "UNKNOWN_OUTCOME" });
    // The connection broke while the statement was under way.
    node.access.create = awayAtOnce;
    const broken = await app.inject(request);
    expect(broken.json()).toMatchObject({ error: "UNKNOWN_OUTCOME" });
    expect(broken.body).not.toContain("10.1.2.3");
    node.ready.database = false;
    expect((await app.inject(request)).json()).toMatchObject({ error: "DATABASE_AWAY" });
  });

  it("are work: none is made by a node that drains", async () => {
    await using served = await serveOpen();
    served.node.work.refuse();
    const payload = { name: "x", role: "viewer" };
    const answer = await served.app.inject({ method: "POST", url: "/tokens", payload });
    expect(answer.statusCode).toBe(503);
    expect(answer.json()).toMatchObject({ error: "DRAINING" });
    expect((await served.app.inject({ url: "/tokens" })).statusCode).toBe(200);
  });
});

describe("the audit", () => {
  it("has every change of a known caller, done and refused, and nothing of its body", async () => {
    const node = new StandInNode();
    const operator = await node.bearer("operator");
    const admin = await node.bearer("admin");
    await using served = serve(node);
    const { app } = served;
    await app.inject({ method: "POST", url: "/cluster/nodes/node-b/drain?wait_ms=7", headers: operator });
    await app.inject({ method: "POST", url: "/tokens", headers: operator, payload: { name: "hf_canary" } });
    await app.inject({ method: "POST", url: "/tokens", headers: admin, payload: { name: "ci", role: "viewer" } });
    await app.inject({ method: "POST", url: "/tokens", headers: admin, payload: { nonsense: "hf_canary" } });
    const listed = await app.inject({ url: "/audit", headers: admin });
    const { items, next_cursor: next } = listed.json<{
      items: Record<string, unknown>[];
      next_cursor: string | null;
    }>();
    expect(next).toBeNull();
    const line = { node_id: "node-a", address: "127.0.0.1", at: expect.any(Number) };
    expect(items).toEqual([
      { ...line, id: "4", actor: "admin-token", action: "POST /tokens", target: null, outcome: "422" },
      { ...line, id: "3", actor: "admin-token", action: "POST /tokens", target: "3", outcome: "201" },
      { ...line, id: "2", actor: "operator-token", action: "POST /tokens", target: null, outcome: "403" },
      {
        ...line,
        id: "1",
        actor: "operator-token",
        action: "POST /cluster/nodes/:id/drain",
        target: "node-b",
        outcome: "200",
      },
    ]);
    expect(listed.body).not.toContain("canary");
  });

  it("has no line of reads, of strangers, and of what is not there", async () => {
    const node = new StandInNode();
    const headers = await node.bearer("admin");
    await using served = serve(node);
    await served.app.inject({ url: "/tokens", headers });
    await served.app.inject({ method: "POST", url: "/tokens", payload: { name: "x", role: "admin" } });
    await served.app.inject({ method: "POST", url: "/nothing", headers });
    await served.app.inject({ method: "POST", url: "/v1/jobs", headers });
    expect(node.auditRows).toEqual([]);
  });

  it("has a line of each read that its route wants to be audited, refused or not, and of who was refused", async () => {
    const node = new StandInNode();
    const reader = await node.bearer("viewer", ["messages:read"]);
    const admin = await node.bearer("admin");
    await using served = serve(node);
    const config = { permission: "messages:read", audited: true } as const;
    served.app.get("/test/:id/body", { config }, async () => "hf_canary");
    const answers = [
      await served.app.inject({ url: "/test/m-1/body?q=hf_canary", headers: reader }),
      await served.app.inject({ url: "/test/m-2/body", headers: admin }),
      await served.app.inject({ url: "/test/m-3/body" }),
    ];
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 403, 401]);
    const action = "GET /test/:id/body";
    expect(node.auditRows).toMatchObject([
      { actor: "admin-token", action, target: "m-2", outcome: "403" },
      { actor: "viewer-token", action, target: "m-1", outcome: "200" },
    ]);
    expect(JSON.stringify(node.auditRows)).not.toContain("canary");
  });

  it("has a line of whoever was refused below /v1/, without the path, which is the caller's own", async () => {
    const node = new StandInNode();
    const headers = await node.bearer("viewer");
    await using served = serve(node);
    await served.app.inject({ method: "POST", url: "/v1/hf_canary", headers });
    expect(node.auditRows).toMatchObject([{ actor: "viewer-token", outcome: "403", target: null }]);
    expect(JSON.stringify(node.auditRows)).not.toContain("canary");
  });

  it("names whoever calls an open node anyone", async () => {
    await using served = await serveOpen();
    await served.app.inject({ method: "POST", url: "/cluster/nodes/node-b/drain" });
    expect(served.node.auditRows).toMatchObject([{ actor: "anyone", outcome: "200" }]);
  });

  it("comes in pages", async () => {
    await using served = await serveOpen();
    for (const id of ["a", "b", "c"]) await served.app.inject({ method: "POST", url: `/cluster/nodes/${id}/drain` });
    const first = await served.app.inject({ url: "/audit?limit=2" });
    expect(first.json()).toMatchObject({ items: [{ target: "c" }, { target: "b" }], next_cursor: "2" });
    const second = await served.app.inject({ url: "/audit?limit=2&cursor=2" });
    expect(second.json()).toMatchObject({ items: [{ target: "a" }], next_cursor: null });
  });

  it("is written before anything is done: without its line a call is refused, and changes nothing", async () => {
    await using served = await serveOpen();
    const { node, app } = served;
    node.access.beginAudit = awayAtOnce;
    const payload = { name: "x", role: "viewer" };
    const answer = await app.inject({ method: "POST", url: "/tokens", payload });
    expect(answer.statusCode).toBe(503);
    expect(answer.json()).toMatchObject({ error: "DATABASE_AWAY" });
    expect(await node.access.tokens()).toEqual([]);
  });

  it("still shows what was begun where its outcome could not be written, and the caller has the answer", async () => {
    await using served = await serveOpen();
    const { node, app } = served;
    node.access.finishAudit = awayAtOnce;
    const answer = await app.inject({ method: "POST", url: "/cluster/nodes/node-b/drain" });
    expect(answer.statusCode).toBe(200);
    expect(node.auditRows).toMatchObject([
      { actor: "anyone", action: "POST /cluster/nodes/:id/drain", target: "node-b", outcome: "begun" },
    ]);
    expect(node.lines).toContainEqual(
      expect.objectContaining({ level: 40, msg: "the outcome of a call could not be recorded", target: "node-b" }),
    );
  });
});
