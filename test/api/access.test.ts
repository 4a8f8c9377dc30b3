import type { RouteOptions } from "fastify";
import { describe, expect, it } from "vitest";
import type { Permission } from "../../src/access/permission.js";
import { createServer, startServer } from "../../src/server/serve.js";
import { serve, serveOpen } from "./served.js";
import { StandInNode } from "./stand-in-node.js";

type Who = "anonymous" | "viewer" | "operator" | "admin" | "agent";
const everyone: readonly Who[] = ["anonymous", "viewer", "operator", "admin", "agent"];
const readers: readonly Who[] = ["viewer", "operator", "admin"];

/** Who gets past the door of each route. A route that is not here fails the test; so does one here that does not exist. */
const table: Readonly<Record<string, readonly Who[]>> = {
  "GET /health": everyone,
  "GET /healthz": everyone,
  "GET /ready": everyone,
  "GET /role": everyone,
  "GET /openapi.json": everyone,
  "GET /docs": everyone,
  "GET /": everyone,
  "GET /assets/*": everyone,
  "GET /session": everyone,
  "DELETE /session": everyone,
  "POST /session": everyone,
  "GET /cluster/status": readers,
  "GET /cluster/nodes": readers,
  "GET /cluster/info": readers,
  "GET /cluster/leaders": readers,
  "GET /cluster/history": readers,
  "GET /cluster/events": readers,
  "GET /cluster/scale": readers,
  "GET /metrics": readers,
  "GET /metrics/cluster": readers,
  "POST /cluster/nodes/:id/drain": ["operator", "admin"],
  "POST /cluster/nodes/:id/resume": ["operator", "admin"],
  "POST /cluster/leaders/:role/step-down": ["operator", "admin"],
  "GET /queue/stages": readers,
  "GET /queue/lanes": readers,
  "POST /queue/lanes/:lane/pause": ["operator", "admin"],
  "POST /queue/lanes/:lane/resume": ["operator", "admin"],
  "POST /queue/lanes/:lane/skip": ["operator", "admin"],
  "GET /dead-letters": readers,
  "GET /dead-letters/:id": readers,
  "GET /dead-letters/:id/body": [],
  "POST /dead-letters/:id/redrive": ["operator", "admin"],
  "GET /messages": readers,
  "GET /messages/:id": readers,
  "GET /messages/:id/body": [],
  "POST /messages": ["operator", "admin"],
  "POST /messages/replay": ["operator", "admin"],
  "POST /messages/:id/replay": ["operator", "admin"],
  "GET /connections": readers,
  "POST /connections/:name/start": ["operator", "admin"],
  "POST /connections/:name/stop": ["operator", "admin"],
  "POST /connections/:name/restart": ["operator", "admin"],
  "POST /config/reload": ["admin"],
  "GET /config/version": readers,
  "POST /v1/functions/:name": ["operator", "admin"],
  "POST /v1/jobs": ["operator", "admin"],
  "GET /v1/jobs": readers,
  "GET /v1/jobs/:id": readers,
  "DELETE /v1/jobs/:id": ["operator", "admin"],
  "POST /v1/jobs/:id/redrive": ["operator", "admin"],
  "POST /v1/leases": ["admin", "agent"],
  "POST /v1/leases/:id/renew": ["admin", "agent"],
  "POST /v1/leases/:id/give-back": ["admin", "agent"],
  "POST /v1/results": ["admin", "agent"],
  "GET /v1/agents": readers,
  "POST /v1/agents/heartbeat": ["admin", "agent"],
  "DELETE /v1/agents/:agent_name": ["operator", "admin"],
  "GET /v1/crons": readers,
  "GET /v1/crons/:name/history": readers,
  "POST /v1/crons/:name/trigger": ["operator", "admin"],
  "POST /v1/crons/:name/pause": ["operator", "admin"],
  "POST /v1/crons/:name/resume": ["operator", "admin"],
  "GET /v1/events": readers,
  "GET /alerts": readers,
  "GET /alerts/rules": readers,
  "POST /alerts/test": ["operator", "admin"],
  "POST /alerts/:id/acknowledge": ["operator", "admin"],
  "POST /alerts/:id/resolve": ["operator", "admin"],
  "GET /tokens": ["admin"],
  "POST /tokens": ["admin"],
  "DELETE /tokens/:id": ["admin"],
  "GET /audit": ["admin"],
};

/** Every route there is, as "METHOD /path". */
async function routesOf(node: StandInNode): Promise<readonly string[]> {
  const app = createServer(node);
  const found: string[] = [];
  app.addHook("onRoute", ({ method, url }: RouteOptions) => {
    for (const one of [method].flat()) found.push(`${one} ${url}`);
  });
  await app.ready();
  await app.close();
  return found;
}

/** HEAD is the same without the body. */
const asGet = (route: string): string => route.replace(/^HEAD /, "GET ");

describe("every route", () => {
  it("stands in the table of this test", async () => {
    const routes = await routesOf(new StandInNode());
    expect(new Set(routes.map(asGet))).toEqual(new Set(Object.keys(table)));
  });

  it("lets in whom the table names, and nobody else", async () => {
    const node = new StandInNode();
    const secrets = new Map<Who, string>();
    for (const role of ["viewer", "operator", "admin", "agent"] as const) secrets.set(role, await node.token(role));
    const routes = await routesOf(node);
    await using served = serve(node);
    const wrong: string[] = [];
    for (const route of routes) {
      const [method = "", path = ""] = route.split(" ");
      const url = path.replace(":id", "nobody").replace(":role", "scheduler");
      for (const who of everyone) {
        const secret = secrets.get(who);
        const headers = secret === undefined ? {} : { authorization: `Bearer ${secret}` };
        // The head alone: the events have no end.
        const answer = await served.app.inject({ method: method as "GET", url, headers, payloadAsStream: true });
        answer.stream().destroy();
        const { statusCode } = answer;
        const refused = who === "anonymous" ? 401 : 403;
        const allowed = table[asGet(route)]?.includes(who) ?? false;
        const ok = allowed ? statusCode !== 401 && statusCode !== 403 : statusCode === refused;
        if (!ok) wrong.push(`${route} as ${who}: ${statusCode}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(routes.length).toBeGreaterThan(30);
  });

  it("that declares no permission does not come to be", async () => {
    const app = createServer(new StandInNode());
    expect(() => app.get("/secret", async () => await Promise.resolve("x"))).toThrow(
      "GET /secret declares no permission",
    );
    app.register(async (inner) => {
      inner.post("/inner", async () => await Promise.resolve("x"));
      await Promise.resolve();
    });
    await expect(app.ready()).rejects.toThrow("POST /inner declares no permission");
    await app.close().catch(() => undefined);
  });

  it("but health, role, cluster, metrics and the document is a gateway's", async () => {
    const worker = new StandInNode({ cluster: { roles: ["worker", "scheduler"] } });
    const routes = new Set((await routesOf(worker)).map(asGet));
    const missing = Object.keys(table).filter((route) => !routes.has(route));
    const engines = ["/messages", "/connections", "/config"];
    const served = [
      "/docs",
      "/assets",
      "/session",
      "/queue",
      "/dead-letters",
      ...engines,
      "/alerts",
      "/v1/",
      "/tokens",
      "/audit",
    ];
    const isGateways = (route: string): boolean =>
      route === "GET /" || served.some((path) => route.split(" ")[1]?.startsWith(path));
    expect(missing).toEqual(Object.keys(table).filter(isGateways));
    expect(missing).toHaveLength(55);
  });
});

describe("a token", () => {
  const ask = async (node: StandInNode, headers: Record<string, string>, url = "/cluster/status") => {
    await using served = serve(node);
    const { statusCode, headers: got, body } = await served.app.inject({ url, headers });
    return { status: statusCode, headers: got, body: JSON.parse(body) as Record<string, unknown> };
  };

  it("is asked for with WWW-Authenticate, and the role headers are there too", async () => {
    const node = new StandInNode();
    await node.token("admin");
    const { status, headers, body } = await ask(node, {});
    expect(status).toBe(401);
    expect(headers["www-authenticate"]).toMatch(/^Bearer/);
    expect(headers["x-holdfast-node"]).toBe("node-a");
    expect(body).toMatchObject({ error: "UNAUTHORIZED" });
  });

  it.each([
    ["of nobody", "Bearer hf_unknown"],
    ["in another scheme", "Basic SECRET"],
    ["with something behind it", "Bearer SECRET x"],
    ["without a scheme", "SECRET"],
  ])("%s lets nobody in", async (_name, header) => {
    const node = new StandInNode();
    const secret = await node.token("admin");
    expect((await ask(node, { authorization: header.replace("SECRET", secret) })).status).toBe(401);
  });

  it("in the query is none", async () => {
    const node = new StandInNode();
    const secret = await node.token("admin");
    expect((await ask(node, {}, `/metrics?token=${secret}&access_token=${secret}`)).status).toBe(401);
  });

  it("that was revoked or has expired lets nobody in, and taking back the last one does not open the door", async () => {
    const node = new StandInNode();
    const authorization = `Bearer ${await node.token("admin")}`;
    expect((await ask(node, { authorization })).status).toBe(200);
    await node.access.revoke("1");
    expect((await ask(node, { authorization })).status).toBe(401);
    expect((await ask(node, {})).status).toBe(401);
    node.tokenAgeMs = 2_000;
    const { secret } = await node.access.create(
      { name: "short", role: "admin", grants: [], lifetimeMs: 1_000 },
      "test",
    );
    expect((await ask(node, { authorization: `Bearer ${secret}` })).status).toBe(401);
  });

  it("with a grant may do that much more", async () => {
    const node = new StandInNode();
    const plain = await node.bearer("viewer");
    const auditor = { authorization: `Bearer ${await node.token("viewer", ["audit:read"], "auditor")}` };
    expect((await ask(node, plain, "/audit")).status).toBe(403);
    expect((await ask(node, auditor, "/audit")).status).toBe(200);
    const needed: Permission = "audit:read";
    expect((await ask(node, plain, "/audit")).body).toMatchObject({
      error: "FORBIDDEN",
      message: expect.stringContaining(needed) as string,
    });
  });
});

describe("a node without tokens", () => {
  it("is open on loopback, and says so once at the start", async () => {
    const node = new StandInNode({ api: { port: 0 } });
    const server = await startServer(node);
    const answer = await fetch(`${server.url}/cluster/status`);
    await server.close();
    expect(answer.status).toBe(200);
    const warnings = node.lines.filter(({ level }) => level === 40).map(({ msg }) => msg);
    expect(warnings).toEqual([expect.stringContaining("no token exists")]);
  });

  it("shuts with the first token", async () => {
    await using served = await serveOpen();
    const { app } = served;
    const payload = { name: "first", role: "admin" };
    const made = await app.inject({ method: "POST", url: "/tokens", payload });
    expect(made.statusCode).toBe(201);
    expect((await app.inject({ url: "/tokens" })).statusCode).toBe(401);
    const { secret } = made.json<{ secret: string }>();
    const authorization = `Bearer ${secret}`;
    expect((await app.inject({ url: "/tokens", headers: { authorization } })).statusCode).toBe(200);
  });

  it.each([
    ["0.0.0.0", "http"],
    ["192.0.2.7", "http"],
    ["::", "http"],
    ["localhost.example.org", "http"],
    ["127.0.0.1.example.org", "http"],
  ])("does not start on %s", async (host) => {
    const node = new StandInNode({ api: { host, port: 0, insecureHttp: true } });
    await expect(startServer(node)).rejects.toMatchObject({
      code: "ACCESS_OPEN",
      message: expect.stringContaining("holdfast token create") as string,
    });
  });

  it("off loopback is not opened by a token list that empties while it runs", async () => {
    const node = new StandInNode({ api: { host: "0.0.0.0", insecureHttp: true } });
    await node.access.refresh();
    expect(node.access.isOpen).toBe(true);
    await using served = serve(node);
    expect((await served.app.inject({ url: "/cluster/status" })).statusCode).toBe(401);
  });

  it("whose tokens cannot be read lets nobody in", async () => {
    await using served = serve(new StandInNode());
    expect((await served.app.inject({ url: "/cluster/status" })).statusCode).toBe(401);
    expect((await served.app.inject({ url: "/health" })).statusCode).toBe(200);
  });
});

describe("plain HTTP off loopback", () => {
  it("needs insecure_http, token or not", async () => {
    const node = new StandInNode({ api: { host: "0.0.0.0", port: 0 } });
    await node.token("admin");
    await expect(startServer(node)).rejects.toMatchObject({
      code: "BAD_SETTINGS",
      message: expect.stringContaining("api.insecure_http") as string,
    });
  });
});

describe("an open door is not for pages in a browser", () => {
  const ask = async (headers: Record<string, string>, method: "GET" | "POST" = "GET", url = "/cluster/status") => {
    await using served = await serveOpen();
    const { statusCode, body } = await served.app.inject({ method, url, headers });
    return { status: statusCode, body: JSON.parse(body) as { error?: string }, asked: served.node.asked.length };
  };

  it.each(["localhost", "localhost:7400", "127.0.0.1:7400", "127.0.0.1", "[::1]:7400", "[::1]", "LOCALHOST:1"])(
    "Host: %s is this machine",
    async (host) => {
      expect((await ask({ host })).status).toBe(200);
    },
  );

  it.each([
    "evil.example:7400",
    "127.0.0.1.evil.example",
    "localhost.evil.example:7400",
    "10.0.0.5:7400",
    "evil.example:80:7400",
  ])("Host: %s is a name that was pointed here", async (host) => {
    expect(await ask({ host })).toMatchObject({ status: 403, body: { error: "FORBIDDEN" } });
  });

  it.each(["http://evil.example", "null", "http://localhost:3000", "https://127.0.0.1.evil.example", "file://"])(
    "Origin: %s is another page",
    async (origin) => {
      const headers = { host: "localhost:7400", origin };
      const outcome = await ask(headers, "POST", "/cluster/nodes/node-a/drain");
      expect(outcome).toMatchObject({ status: 403, asked: 0 });
    },
  );

  it("Origin: its own is its own page", async () => {
    const headers = { host: "localhost:7400", origin: "http://localhost:7400" };
    expect((await ask(headers, "POST", "/cluster/nodes/node-a/drain")).status).toBe(200);
  });

  const link = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };

  it.each([
    ["cross-site", {}],
    ["same-site", {}],
    ["cross-site", { "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" }],
    ["cross-site", { ...link, "sec-fetch-dest": "iframe" }],
  ])("Sec-Fetch-Site: %s is another page, also where it sends no Origin (%j)", async (site, more) => {
    const headers = { host: "localhost:7400", "sec-fetch-site": site, ...more };
    expect(await ask(headers)).toMatchObject({ status: 403, body: { error: "FORBIDDEN" } });
  });

  it.each([
    ["same-origin", {}],
    ["none", {}],
    ["cross-site", link],
  ])("Sec-Fetch-Site: %s is a person, or its own page (%j)", async (site, more) => {
    expect((await ask({ host: "localhost:7400", "sec-fetch-site": site, ...more })).status).toBe(200);
  });

  it("and what was posted by a form of another site is no link", async () => {
    const headers = { host: "localhost:7400", "sec-fetch-site": "cross-site", ...link };
    const outcome = await ask(headers, "POST", "/cluster/nodes/node-a/drain");
    expect(outcome).toMatchObject({ status: 403, asked: 0 });
  });

  it("and a node with tokens asks for one instead", async () => {
    const node = new StandInNode();
    const headers = { host: "node-a.example:7400", ...(await node.bearer("viewer")) };
    await using served = serve(node);
    expect((await served.app.inject({ url: "/cluster/status", headers })).statusCode).toBe(200);
  });
});
