import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { serve } from "./served.js";
import { nodeRow, StandInNode } from "./stand-in-node.js";

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const asNode = {
  "content-type": "application/json; charset=utf-8",
  "x-holdfast-node": "node-b",
  "x-holdfast-role": "LEADER",
};

const port = (server: Pick<Server, "address">): number => (server.address() as AddressInfo).port;

/** What stands at the leader's address: it keeps what it was asked, and answers as the test says. */
async function leaderThat(answer: (response: ServerResponse) => void): Promise<{ asked: Asked[]; url: string }> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece: Buffer) => {
      body += piece.toString();
    });
    request.on("end", () => {
      asked.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body });
      answer(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { asked, url: `http://127.0.0.1:${port(server)}` };
}

const accepts = (response: ServerResponse): void => {
  response.writeHead(201, asNode).end('{"job_id":"j","state":"queued"}');
};

/** A standby of node-b, which is registered at this address. */
function standbyOf(url: string | null, options: ConstructorParameters<typeof StandInNode>[0] = {}): StandInNode {
  const node = new StandInNode(options);
  node.stand("STANDBY", "scheduler", "node-b");
  // What the lease says is not asked: an address there may be anybody's.
  node.postures.get("scheduler")!.leaderUrl = "http://127.0.0.1:1";
  node.nodes = [nodeRow("node-a"), nodeRow("node-b", { url })];
  return node;
}

const forward = { "x-holdfast-forward": "leader" };
const submit = { method: "POST", url: "/v1/jobs?wait=1", payload: { op: "x", payload: { n: 1 } } } as const;

describe("what only the leader can do", () => {
  it("is sent on to it where the caller wants that, with the caller's own token, and its answer comes back", async () => {
    const { asked, url } = await leaderThat(accepts);
    const node = standbyOf(url);
    const token = await node.token("operator");
    await using served = serve(node);
    const headers = { ...forward, authorization: `Bearer ${token}`, cookie: "other=1", "x-private": "1" };
    const answer = await served.app.inject({ ...submit, headers });
    expect(answer.statusCode).toBe(201);
    expect(answer.json()).toEqual({ job_id: "j", state: "queued" });
    expect(answer.headers).toMatchObject({
      "x-holdfast-node": "node-b",
      "x-holdfast-role": "LEADER",
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
    });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ method: "POST", url: "/v1/jobs?wait=1", body: '{"op":"x","payload":{"n":1}}' });
    expect(asked[0]?.headers).toMatchObject({
      authorization: `Bearer ${token}`,
      "x-holdfast-forwarded-by": "node-a",
      "content-type": "application/json",
    });
    const names = Object.keys(asked[0]?.headers ?? {});
    expect(names.filter((name) => /cookie|private|x-holdfast-forward$|x-holdfast-request/.test(name))).toEqual([]);
    expect(JSON.stringify(node.lines)).not.toContain(token);
  });

  it("is sent on for a session, too, and what the leader refuses is refused", async () => {
    const { asked, url } = await leaderThat((response) => {
      response.writeHead(422, asNode).end('{"error":"INVALID_REQUEST","message":"op is missing."}');
    });
    const node = standbyOf(url);
    const token = await node.token("operator");
    await using served = serve(node);
    const host = "localhost:7400";
    const page = {
      host,
      origin: `http://${host}`,
      cookie: `holdfast_session=${token}`,
      "x-holdfast-request": "dashboard",
    };
    const headers = { ...forward, ...page };
    const answer = await served.app.inject({ ...submit, payload: { nonsense: true }, headers });
    expect(answer.json()).toEqual({ error: "INVALID_REQUEST", message: "op is missing." });
    expect(answer.statusCode).toBe(422);
    expect(asked[0]?.headers.authorization).toBe(`Bearer ${token}`);
  });

  it("without a body is sent on without one", async () => {
    const { asked, url } = await leaderThat((response) => void response.writeHead(200, asNode).end("{}"));
    const node = standbyOf(url);
    const headers = { ...forward, ...(await node.bearer("operator")) };
    await using served = serve(node);
    const answer = await served.app.inject({ method: "DELETE", url: "/v1/jobs/j%2F1", headers });
    expect(answer.statusCode).toBe(200);
    expect(asked[0]).toMatchObject({ method: "DELETE", url: "/v1/jobs/j%2F1", body: "" });
    expect(node.auditRows).toMatchObject([{ action: "DELETE /v1/jobs/:id", outcome: "200", address: "127.0.0.1" }]);
  });

  it("is sent on where only the database tells whose it is, as of a dead letter", async () => {
    const { asked, url } = await leaderThat((response) => void response.writeHead(200, asNode).end("{}"));
    const node = standbyOf(url);
    const headers = await node.bearer("operator");
    await using served = serve(node);
    const redrive = { method: "POST", url: "/dead-letters/7/redrive" } as const;
    expect((await served.app.inject({ ...redrive, headers })).json()).toMatchObject({ error: "NOT_LEADER" });
    const answer = await served.app.inject({ ...redrive, headers: { ...headers, ...forward } });
    expect([answer.statusCode, answer.headers["x-holdfast-node"]]).toEqual([200, "node-b"]);
    expect(asked).toMatchObject([{ url: "/dead-letters/7/redrive", body: "" }]);
  });

  it.each([
    ["where nobody asked for that", {}],
    ["where it asks for something else", { "x-holdfast-forward": "anybody" }],
    ["where another node has sent it on already", { ...forward, "x-holdfast-forwarded-by": "node-c" }],
  ])("stays 409 %s", async (_where, wish) => {
    const { asked, url } = await leaderThat(accepts);
    const node = standbyOf(url);
    const headers = { ...wish, ...(await node.bearer("operator")) };
    await using served = serve(node);
    expect((await served.app.inject({ ...submit, headers })).json()).toMatchObject({
      error: "NOT_LEADER",
      leader_id: "node-b",
    });
    expect(asked).toEqual([]);
  });

  it("is not sent on for whoever may not do it, nor where nobody leads", async () => {
    const { asked, url } = await leaderThat(accepts);
    const node = standbyOf(url);
    const viewer = { ...forward, ...(await node.bearer("viewer")) };
    const operator = { ...forward, ...(await node.bearer("operator")) };
    await using served = serve(node);
    expect((await served.app.inject({ ...submit, headers: forward })).statusCode).toBe(401);
    expect((await served.app.inject({ ...submit, headers: viewer })).statusCode).toBe(403);
    node.stand("STANDBY", "scheduler", null);
    expect((await served.app.inject({ ...submit, headers: operator })).json()).toMatchObject({
      error: "NOT_LEADER",
      leader_id: null,
    });
    expect(asked).toEqual([]);
  });

  it("is done here by the leader itself", async () => {
    const node = new StandInNode();
    const headers = { ...forward, ...(await node.bearer("operator")) };
    await using served = serve(node);
    expect((await served.app.inject({ ...submit, url: "/v1/jobs", headers })).headers["x-holdfast-node"]).toBe(
      "node-a",
    );
  });
});

describe("a leader's address", () => {
  const ask = async (node: StandInNode, limits: Parameters<typeof serve>[1] = {}) => {
    const headers = { ...forward, ...(await node.bearer("operator")) };
    await using served = serve(node, limits);
    const answer = await served.app.inject({ ...submit, headers });
    return { status: answer.statusCode, ...answer.json<{ error: string; message: string }>() };
  };

  it.each([
    ["of a node that is not in the registry", null, "not in the registry"],
    ["of a node that is dead", { status: "dead" }, "is dead"],
    ["of a node that has left", { status: "left" }, "has left"],
    ["that was never told", { url: null }, "no address"],
    ["of another kind", { url: "file:///etc/passwd" }, "no address"],
  ] as const)("%s leads nowhere", async (_which, row, said) => {
    const node = standbyOf("http://127.0.0.1:1");
    node.nodes = row === null ? [] : [nodeRow("node-b", row)];
    const message = expect.stringContaining(said) as string;
    expect(await ask(node)).toMatchObject({ status: 503, error: "NODE_AWAY", message });
  });

  it("where nobody listens is told, and that nothing was done", async () => {
    const silent = createTcpServer();
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${port(silent)}`;
    await new Promise((resolve) => silent.close(resolve));
    expect(await ask(standbyOf(url))).toMatchObject({ status: 503, error: "NODE_AWAY" });
  });

  it.each([
    ["http://10.0.0.9:7400", {}],
    ["http://holdfast.example", {}],
    ["http://127.0.0.1:9", { api: { host: "0.0.0.0", insecureHttp: true } }],
  ])("%s is none to send a token to in the clear (%j)", async (url, options) => {
    expect(await ask(standbyOf(url, options))).toMatchObject({
      status: 409,
      error: "REFUSED",
      message: expect.stringContaining(new URL(url).origin) as string,
    });
  });

  it("that gives no answer in time leaves it unknown what was done", async () => {
    const { url } = await leaderThat(() => undefined);
    expect(await ask(standbyOf(url), { forwardMs: 1_000 })).toMatchObject({ status: 503, error: "UNKNOWN_OUTCOME" });
  });

  it.each([
    ["hangs up", (response: ServerResponse) => void response.socket?.destroy()],
    [
      "breaks off",
      (response: ServerResponse) => {
        response.writeHead(200, { ...asNode, "content-length": "100" });
        response.write("{", () => response.socket?.destroy());
      },
    ],
    [
      "says more than it may",
      (response: ServerResponse) => void response.writeHead(200, asNode).end(`"${"x".repeat(5_000)}"`),
    ],
    [
      "points elsewhere",
      (response: ServerResponse) => void response.writeHead(307, { ...asNode, location: "/away" }).end(),
    ],
    [
      "is no node",
      (response: ServerResponse) => void response.writeHead(200, { "content-type": "application/json" }).end("{}"),
    ],
    [
      "sends a page",
      (response: ServerResponse) => void response.writeHead(200, { ...asNode, "content-type": "text/html" }).end("<p>"),
    ],
  ])("that %s is no answer, and nothing of it comes through", async (_how, answer) => {
    const { asked, url } = await leaderThat(answer);
    const told = await ask(standbyOf(url), { forwardBytes: 4_096 });
    expect(told).toMatchObject({ status: 503, error: "UNKNOWN_OUTCOME" });
    expect(asked).toHaveLength(1);
  });

  it("without tokens is asked without one, and only within this machine", async () => {
    const { asked, url } = await leaderThat(accepts);
    const node = standbyOf(url);
    await node.access.refresh();
    await using served = serve(node);
    expect((await served.app.inject({ ...submit, headers: forward })).statusCode).toBe(201);
    expect(asked[0]?.headers).not.toHaveProperty("authorization");
    node.nodes = [nodeRow("node-b", { url: "https://holdfast.example" })];
    expect((await served.app.inject({ ...submit, headers: forward })).json()).toMatchObject({ error: "REFUSED" });
  });

  it("may have a path before ours", async () => {
    const { asked, url } = await leaderThat(accepts);
    await ask(standbyOf(`${url}/holdfast/`));
    expect(asked[0]?.url).toBe("/holdfast/v1/jobs?wait=1");
  });
});
