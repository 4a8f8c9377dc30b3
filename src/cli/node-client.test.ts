import { readFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { HoldfastError } from "../errors.js";
import { NodeClient } from "./node-client.js";
import { unreachedBy } from "./unreached.js";

const stops: (() => void)[] = [];

afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

async function listen(listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await portOf(createServer(listener))}`;
}

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stops.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const read = (name: string): Buffer => readFileSync(new URL(`../../test/support/tls/${name}`, import.meta.url));

/** Its certificate is signed by itself, for localhost and 127.0.0.1. */
async function listenWithTls(listener: RequestListener): Promise<number> {
  return await portOf(createTlsServer({ cert: read("localhost.crt"), key: read("localhost.key") }, listener));
}

const answering =
  (
    status: number,
    body: unknown,
    headers: Readonly<Record<string, string>> = { "x-holdfast-node": "a" },
  ): RequestListener =>
  (_request, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };

async function failureOf(url: string, options: { readonly token?: string; readonly timeoutMs?: number } = {}) {
  const { token = null, ...rest } = options;
  try {
    await new NodeClient({ url, token, ...rest }).get("/cluster/nodes");
  } catch (error) {
    if (error instanceof HoldfastError) return { code: error.code, exit: error.exitCode, message: error.message };
    throw error;
  }
  throw new Error("It did not fail.");
}

describe("a node that is asked over HTTP", () => {
  it("gets the token, and its answer is passed on as it is", async () => {
    const seen: (string | undefined)[] = [];
    const url = await listen((request, response) => {
      seen.push(request.headers.authorization);
      answering(200, { nodes: [] })(request, response);
    });
    expect(await new NodeClient({ url: `${url}/`, token: "hf_x" }).get("/cluster/nodes")).toEqual({ nodes: [] });
    expect(seen).toEqual(["Bearer hf_x"]);
  });

  it("answers errors that come out as the same error, with its exit code", async () => {
    const known = await listen(answering(409, { error: "NODE_GONE", message: 'Node "b" has left.' }));
    expect(await failureOf(known)).toEqual({ code: "NODE_GONE", exit: 1, message: 'Node "b" has left.' });
    const away = await listen(answering(503, { error: "DATABASE_AWAY", message: "Later." }));
    expect(await failureOf(away)).toMatchObject({ exit: 4 });
    const newer = await listen(answering(418, { error: "SOMETHING_NEW", message: "Tea." }));
    expect(await failureOf(newer)).toEqual({
      code: "INTERNAL",
      exit: 1,
      message: "The node answered HTTP 418: SOMETHING_NEW: Tea.",
    });
  });

  it("that does not lead says who does: exit 3", async () => {
    const answer = { error: "NOT_LEADER", leader_id: "b", leader_url: "http://b:7400", leader_epoch: 7, node_id: "a" };
    expect(await failureOf(await listen(answering(409, answer)))).toEqual({
      code: "NOT_LEADER",
      exit: 3,
      message: 'This node does not lead; "b" does, at http://b:7400: use --url http://b:7400.',
    });
    const unknown = await listen(answering(409, { ...answer, leader_id: null, leader_url: null, leader_epoch: null }));
    expect((await failureOf(unknown)).message).toContain("no leader is known");
  });

  it("that knows no such caller leads to the token that is missing, or wrong", async () => {
    const url = await listen(answering(401, { error: "UNAUTHORIZED", message: "x" }));
    expect((await failureOf(url)).message).toContain("set HOLDFAST_TOKEN");
    expect((await failureOf(url, { token: "hf_old" })).message).toContain("does not know this token");
  });

  it.each([
    ["JSON of another kind", answering(200, { hello: "world" }, {})],
    ["an error of another kind", answering(500, { oops: true }, {})],
    ["a redirect", answering(302, {}, { location: "http://127.0.0.1:1/" })],
    ["no JSON", (_request: unknown, response) => response.end("hello")],
  ] satisfies readonly (readonly [string, RequestListener])[])("is not what answers %s", async (_name, listener) => {
    const failure = await failureOf(await listen(listener));
    expect(failure).toMatchObject({ code: "NODE_AWAY", exit: 4 });
    expect(failure.message).toContain("is no Holdfast node");
  });

  it("that does not answer in time is away", async () => {
    const url = await listen(() => undefined);
    expect(await failureOf(url, { timeoutMs: 50 })).toMatchObject({
      code: "NODE_AWAY",
      message: expect.stringContaining("(no answer within 0.05 s)") as string,
    });
  });
});

describe("a node behind TLS", () => {
  it("whose certificate nobody vouches for is not called absent, and the way out is named", async () => {
    const url = `https://127.0.0.1:${await listenWithTls(answering(200, {}))}`;
    expect(await failureOf(url)).toEqual({
      code: "NODE_AWAY",
      exit: 4,
      message:
        `The node at ${url} cannot be trusted (its certificate is not trusted: self-signed certificate): ` +
        "name the file with its authority's certificate in NODE_EXTRA_CA_CERTS.",
    });
  });

  it("that is asked in plain HTTP leads to https", async () => {
    const port = await listenWithTls(answering(200, {}));
    const { message } = await failureOf(`http://127.0.0.1:${port}`);
    expect(message).toContain(`(connection closed): if it serves TLS, use https://127.0.0.1:${port}; else start one`);
  });

  it("is not what serves plain HTTP: that leads to http", async () => {
    const plain = await listen(answering(200, {}));
    const { message } = await failureOf(plain.replace("http:", "https:"));
    expect(message).toBe(
      `No node answers at ${plain.replace("http:", "https:")} (no TLS is spoken there): use ${plain}.`,
    );
  });

  it.each([
    ["ERR_TLS_CERT_ALTNAME_INVALID", "its certificate is for another name: said", "NODE_EXTRA_CA_CERTS"],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "its certificate is not trusted: said", "NODE_EXTRA_CA_CERTS"],
    ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "its certificate is not trusted: said", "NODE_EXTRA_CA_CERTS"],
    ["SELF_SIGNED_CERT_IN_CHAIN", "its certificate is not trusted: said", "NODE_EXTRA_CA_CERTS"],
    ["CERT_HAS_EXPIRED", "its certificate is not valid now: said", "renew it"],
  ])("that fails with %s cannot be trusted, and it is said why", (code, reason, wayOut) => {
    const cause = Object.assign(new Error("said"), { code });
    const unreached = unreachedBy(new TypeError("fetch failed", { cause }), "https://a:7400");
    expect(unreached).toMatchObject({ kind: "untrusted", reason });
    expect(unreached.wayOut).toContain(wayOut);
  });
});

describe("a token", () => {
  it.each([
    ["https://a:7400", "https://a:7400/", true],
    ["https://a:7400", "https://b:7400", true],
    ["https://a:7400", "http://a:7400", false],
    ["https://127.0.0.1:7400", "http://127.0.0.1:7401", false],
    ["http://127.0.0.1:7400", "http://127.0.0.1:7401", true],
    ["http://localhost:7400", "http://[::1]:7401", true],
    ["http://127.0.0.1:7400", "http://10.0.0.5:7400", false],
    ["http://127.0.0.1:7400", "http://127.0.0.1.example:7400", false],
    ["http://127.0.0.1:7400", "https://b:7400", false],
    ["http://10.0.0.5:7400", "http://10.0.0.5:7400", true],
    ["http://10.0.0.5:7400", "http://10.0.0.5:7401", false],
    ["http://10.0.0.5:7400", "http://127.0.0.1:7400", false],
    ["http://127.0.0.1:7400", "no address", false],
  ])("that was given for %s goes to %s: %s", (named, told, goes) => {
    const at = new NodeClient({ url: named, token: "hf_x" }).at(told);
    expect(at?.url ?? null).toBe(goes ? told.replace(/\/$/, "") : null);
  });

  it("that nobody has keeps nobody from asking", () => {
    const at = new NodeClient({ url: "https://a:7400", token: null }).at("http://b:7400");
    expect(at?.url).toBe("http://b:7400");
  });

  it("stays at home when a node is asked as nobody", async () => {
    const seen: (string | undefined)[] = [];
    const url = await listen((request, response) => {
      seen.push(request.headers.authorization);
      answering(200, {})(request, response);
    });
    await new NodeClient({ url, token: "hf_x" }).anonymousAt(url).get("/role");
    expect(seen).toEqual([undefined]);
  });
});
