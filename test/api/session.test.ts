import { describe, expect, it } from "vitest";
import { serve, serveOpen } from "./served.js";
import { StandInNode } from "./stand-in-node.js";

const host = "localhost:7400";
const ours = { host, origin: `http://${host}`, "sec-fetch-site": "same-origin" };
const mark = { "x-holdfast-request": "dashboard" };

async function signedIn(role: "viewer" | "operator" = "operator", node = new StandInNode()) {
  const secret = await node.token(role);
  const served = serve(node);
  const answer = await served.app.inject({
    method: "POST",
    url: "/session",
    headers: ours,
    payload: { token: secret },
  });
  const [cookie = ""] = String(answer.headers["set-cookie"]).split(";");
  return { node, served, secret, answer, cookie };
}

describe("POST /session", () => {
  it("turns a token into a cookie, and tells who it is and what they may do", async () => {
    const { served, secret, answer } = await signedIn("viewer");
    await using _served = served;
    expect(answer.json()).toEqual({
      name: "viewer-token",
      role: "viewer",
      permissions: ["monitoring:read"],
      expires_at: null,
    });
    expect(answer.headers["set-cookie"]).toBe(
      `holdfast_session=${secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age=604800`,
    );
    expect(answer.body).not.toContain(secret);
  });

  it("lets the cookie live no longer than the token, and marks it where the browser's way here is encrypted", async () => {
    const node = new StandInNode();
    const wish = { name: "short", role: "viewer", grants: [], lifetimeMs: 60_000 } as const;
    const { secret: token } = await node.access.create(wish, "test");
    await node.access.refresh();
    await using served = serve(node);
    const headers = { host: "holdfast.example", origin: "https://holdfast.example" };
    const answer = await served.app.inject({ method: "POST", url: "/session", headers, payload: { token } });
    const [, age] = /Max-Age=(\d+); Secure$/.exec(String(answer.headers["set-cookie"])) ?? [];
    expect(Number(age)).toBeGreaterThan(0);
    expect(Number(age)).toBeLessThanOrEqual(60);
    expect(answer.json<{ expires_at: number }>().expires_at).toBeGreaterThan(Date.now() / 1_000);
  });

  it("is 401 for a token that is not known, and says nothing of it", async () => {
    const node = new StandInNode();
    await node.token("admin");
    await using served = serve(node);
    const payload = { token: "hf_canary" };
    const answer = await served.app.inject({ method: "POST", url: "/session", headers: ours, payload });
    expect(answer.statusCode).toBe(401);
    expect(answer.headers).not.toHaveProperty("set-cookie");
    expect(answer.body).not.toContain("canary");
    expect(node.auditRows).toEqual([]);
  });

  it("has a line in the audit for whoever came in, and the token is in no line", async () => {
    const { node, served, secret } = await signedIn();
    await using _served = served;
    expect(node.auditRows).toMatchObject([
      { actor: "operator-token", action: "POST /session", target: "1", outcome: "200", address: "127.0.0.1" },
    ]);
    expect(JSON.stringify([node.auditRows, node.lines])).not.toContain(secret);
  });

  it("works while the database is away: then a person wants to see most of all", async () => {
    const node = new StandInNode();
    const token = await node.token("viewer");
    await using served = serve(node, { databaseWaitMs: 20 });
    node.trouble = async () => await new Promise<never>(() => undefined);
    node.ready.database = false;
    const answer = await served.app.inject({ method: "POST", url: "/session", headers: ours, payload: { token } });
    expect(answer.statusCode).toBe(200);
    const [cookie = ""] = String(answer.headers["set-cookie"]).split(";");
    const out = await served.app.inject({ method: "DELETE", url: "/session", headers: { ...ours, ...mark, cookie } });
    expect(out.statusCode).toBe(200);
  });

  it("is not for the page of another origin, which could sign a person in as somebody else", async () => {
    const node = new StandInNode();
    const token = await node.token("viewer");
    await using served = serve(node);
    const headers = { host, origin: "http://evil.example" };
    const answer = await served.app.inject({ method: "POST", url: "/session", headers, payload: { token } });
    expect(answer.statusCode).toBe(403);
  });
});

describe("GET /session", () => {
  it("tells a stranger nothing but where they are", async () => {
    const node = new StandInNode();
    await node.token("admin");
    await using served = serve(node);
    expect((await served.app.inject({ url: "/session" })).json()).toEqual({
      signed_in: false,
      open: false,
      name: null,
      role: null,
      permissions: [],
      expires_at: null,
      node_id: "node-a",
      cluster: "default",
      version: expect.any(String) as string,
    });
  });

  it("knows the cookie, until its token is revoked", async () => {
    const { node, served, cookie } = await signedIn();
    await using _served = served;
    const look = async () => (await served.app.inject({ url: "/session", headers: { host, cookie } })).json<object>();
    expect(await look()).toMatchObject({ signed_in: true, open: false, name: "operator-token", role: "operator" });
    await node.access.revoke("1");
    expect(await look()).toMatchObject({ signed_in: false, name: null, permissions: [] });
  });

  it("says that the door is open where no token exists, and nobody has to sign in", async () => {
    await using served = await serveOpen();
    expect((await served.app.inject({ url: "/session" })).json()).toMatchObject({
      signed_in: false,
      open: true,
      name: "anyone",
      permissions: expect.arrayContaining(["control", "tokens"]) as string[],
    });
  });
});

describe("DELETE /session", () => {
  it("takes the cookie back", async () => {
    const { served, cookie } = await signedIn();
    await using _served = served;
    const headers = { ...ours, ...mark, cookie };
    const answer = await served.app.inject({ method: "DELETE", url: "/session", headers });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers["set-cookie"]).toMatch(/^holdfast_session=;.*Max-Age=0$/);
  });
});

describe("a session", () => {
  const drain = { method: "POST", url: "/cluster/nodes/node-a/drain" } as const;

  it("reads and acts as its token does, and is named so in the audit", async () => {
    const { node, served, cookie } = await signedIn();
    await using _served = served;
    expect((await served.app.inject({ url: "/cluster/status", headers: { host, cookie } })).statusCode).toBe(200);
    expect((await served.app.inject({ ...drain, headers: { ...ours, ...mark, cookie } })).statusCode).toBe(200);
    expect(node.asked).toMatchObject([{ requestedBy: "operator-token" }]);
    expect(node.auditRows[0]).toMatchObject({ actor: "operator-token", action: "POST /cluster/nodes/:id/drain" });
  });

  it("of a viewer cannot act", async () => {
    const { node, served, cookie } = await signedIn("viewer");
    await using _served = served;
    expect((await served.app.inject({ ...drain, headers: { ...ours, ...mark, cookie } })).statusCode).toBe(403);
    expect(node.asked).toEqual([]);
  });

  it.each([
    ["without the mark that only our page sets", { ...ours }],
    ["with another mark", { ...ours, "x-holdfast-request": "form" }],
    ["from another origin", { ...ours, ...mark, origin: "http://evil.example" }],
    ["from another port of this machine", { ...ours, ...mark, origin: "http://localhost:3000" }],
    ["from a sandboxed page", { ...ours, ...mark, origin: "null" }],
    ["from another site that sends no Origin", { host, ...mark, "sec-fetch-site": "cross-site" }],
    ["from a neighbouring site", { host, ...mark, "sec-fetch-site": "same-site" }],
  ])("changes nothing %s", async (_how, headers) => {
    const { node, served, cookie } = await signedIn();
    await using _served = served;
    const answer = await served.app.inject({ ...drain, headers: { ...headers, cookie } });
    expect(answer.json()).toMatchObject({ error: "FORBIDDEN" });
    expect(node.asked).toEqual([]);
    expect(node.auditRows).toHaveLength(1);
  });

  it("reads nothing for a neighbouring site either, but a person may follow a link", async () => {
    const { served, cookie } = await signedIn();
    await using _served = served;
    const across = { host, cookie, "sec-fetch-site": "same-site" };
    expect((await served.app.inject({ url: "/cluster/status", headers: across })).statusCode).toBe(403);
    const link = { ...across, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    expect((await served.app.inject({ url: "/cluster/status", headers: link })).statusCode).toBe(200);
  });

  it("works behind a proxy that changes the Host, where api.public_url says how browsers know the node", async () => {
    const node = new StandInNode({ api: { publicUrl: "https://holdfast.example" } });
    const { served, cookie } = await signedIn("operator", node);
    await using _served = served;
    const headers = { host: "10.0.0.5:7400", origin: "https://holdfast.example", ...mark, cookie };
    expect((await served.app.inject({ ...drain, headers })).statusCode).toBe(200);
  });

  it.each([
    ["holdfast.example", "https://holdfast.example"],
    ["holdfast.example:443", "https://holdfast.example"],
    ["Holdfast.Example:80", "http://holdfast.example"],
    ["[::1]:7400", "http://[::1]:7400"],
  ])("knows its own page at Host: %s by Origin: %s", async (name, origin) => {
    const { served, cookie } = await signedIn();
    await using _served = served;
    const headers = { host: name, origin, ...mark, cookie };
    expect((await served.app.inject({ ...drain, headers })).statusCode).toBe(200);
  });

  it("gives way to a token in the header, even to one that is not known", async () => {
    const { node, served, cookie } = await signedIn("viewer");
    await using _served = served;
    const { authorization } = await node.bearer("operator");
    expect((await served.app.inject({ ...drain, headers: { authorization, cookie } })).statusCode).toBe(200);
    const unknown = { host, cookie, authorization: "Bearer hf_unknown" };
    expect((await served.app.inject({ url: "/cluster/status", headers: unknown })).statusCode).toBe(401);
  });

  it("is answered to no page of another origin: nothing here knows CORS", async () => {
    const { served, cookie } = await signedIn();
    await using _served = served;
    const headers = { host, cookie, origin: "http://evil.example", "access-control-request-method": "POST" };
    for (const method of ["OPTIONS", "GET", "POST"] as const) {
      const { headers: got, statusCode } = await served.app.inject({ method, url: "/cluster/status", headers });
      expect(statusCode).toBeGreaterThanOrEqual(400);
      expect(Object.keys(got).filter((name) => name.startsWith("access-control"))).toEqual([]);
    }
  });
});
