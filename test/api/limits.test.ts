import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { limits } from "../../src/server/limits.js";
import { RawConnection } from "./raw-connection.js";
import { listen, serveOpen } from "./served.js";

const request = "GET /health HTTP/1.1\r\nHost: localhost\r\n";
const json = "Content-Type: application/json\r\n";

describe("what is not HTTP", () => {
  it.each([
    ["nonsense", "nonsense\r\n\r\n", 400, "BAD_REQUEST"],
    ["TLS at a plain port", "\x16\x03\x01\x02\x00\x01", 400, "BAD_REQUEST"],
    ["a header that nobody can read", `${request}bad header\r\n\r\n`, 400, "BAD_REQUEST"],
    ["two lengths of one body", `${request}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, 400, "BAD_REQUEST"],
    ["headers beyond the limit", `${request}X: ${"x".repeat(7_000)}\r\n\r\n`, 400, "BAD_REQUEST"],
  ])("%s is refused in our own words, and the connection ends", async (_name, sent, status, error) => {
    await using served = await listen({}, { headerBytes: 6_000 });
    using connection = await RawConnection.open(served.port);
    connection.send(sent);
    await connection.ended;
    const { answer } = connection;
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.body)).toMatchObject({ error, message: expect.any(String) });
    expect(answer.head).toContain("x-holdfast-node: node-a");
    expect(answer.head).toContain("connection: close");
    const metrics = await served.node.registry.metrics();
    expect(metrics).toContain(`method="unknown",route="unmatched",status="${status}"} 1`);
  });

  it("a request without a Host is refused, unless it is of HTTP/1.0, which has none", async () => {
    await using served = await listen();
    for (const [version, status] of [
      ["1.1", 400],
      ["1.0", 200],
    ]) {
      using connection = await RawConnection.open(served.port);
      connection.send(`GET /health HTTP/${version}\r\nConnection: close\r\n\r\n`);
      await connection.ended;
      expect(connection.answer.status).toBe(status);
      expect(connection.answer.head).toContain("x-holdfast-node: node-a");
    }
  });

  it("more headers than it takes are refused, and not dropped in silence", async () => {
    await using served = await serveOpen();
    const headers = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`x-${index}`, "1"]));
    const answer = await served.app.inject({ url: "/health", headers });
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ error: "BAD_REQUEST" });
  });
});

describe("a request that does not get on", () => {
  const quick = { headersTimeoutMs: 60, requestTimeoutMs: 120, timeoutCheckMs: 20 };

  it.each([
    ["says nothing at all", ""],
    ["sends half of its headers", "GET /health HTTP/1.1\r\nHost: local"],
    ["sends half of its body", `POST /tokens HTTP/1.1\r\nHost: localhost\r\n${json}Content-Length: 100\r\n\r\n{`],
  ])("because it %s is given up", async (_name, sent) => {
    await using served = await listen({}, quick);
    using connection = await RawConnection.open(served.port);
    connection.send(sent);
    await connection.ended;
    if (sent === "") return; // Who asked nothing needs no answer.
    expect(connection.answer.status).toBe(408);
    expect(JSON.parse(connection.answer.body)).toMatchObject({ error: "REQUEST_TIMEOUT" });
  });

  it("is not confused with a connection that rests between two requests", async () => {
    await using served = await listen({}, quick);
    using resting = await RawConnection.open(served.port);
    resting.send(`${request}\r\n`);
    await resting.got(/"ok"/);
    for (let round = 0; round < 3; round += 1) {
      using silent = await RawConnection.open(served.port);
      await silent.ended; // So long that whoever owes a request is given up.
    }
    resting.send(`${request}\r\n`);
    await resting.got(/"ok"[\s\S]*"ok"/);
    expect(resting.received.match(/HTTP\/1\.1 200/g)).toHaveLength(2);
  });

  it("does not keep others waiting", async () => {
    await using served = await listen();
    using slow = await RawConnection.open(served.port);
    slow.send("GET /health HTTP/1.1\r\nHost: local");
    expect((await fetch(`${served.server.url}/health`)).status).toBe(200);
  });

  it("is given up when nothing moves on its connection", async () => {
    await using served = await listen({}, { connectionTimeoutMs: 50, databaseWaitMs: 20_000, closeGraceMs: 50 });
    served.node.trouble = async () => await new Promise<never>(() => undefined);
    using connection = await RawConnection.open(served.port);
    connection.send("GET /cluster/nodes HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await connection.ended;
    expect(connection.received).toBe("");
  });
});

describe("connections", () => {
  it("beyond the limit are told so and closed, those beyond that too are closed at once, and the log says it once", async () => {
    await using served = await listen({}, { maxConnections: 2, spareConnections: 1 });
    using first = await RawConnection.open(served.port);
    using second = await RawConnection.open(served.port);
    first.send(`${request}\r\n`);
    second.send(`${request}\r\n`);
    await Promise.all([first.got(/"ok"/), second.got(/"ok"/)]);
    expect(served.node.connections()).toBe(2);
    using third = await RawConnection.open(served.port);
    await expect.poll(() => served.node.connections()).toBe(3);
    using fourth = await RawConnection.open(served.port);
    await fourth.ended;
    expect(fourth.received).toBe("");
    third.send(`${request}\r\n`);
    await third.ended;
    expect(third.answer.status).toBe(503);
    expect(JSON.parse(third.answer.body)).toMatchObject({ error: "TOO_BUSY", message: expect.any(String) });
    expect(third.answer.head).toContain("connection: close");
    const warnings = served.node.lines.filter(({ msg }) => String(msg).includes("as many connections"));
    expect(warnings).toMatchObject([{ level: 40, connections: 2 }]);
    first.send(`${request}\r\n`);
    await first.got(/"ok"[\s\S]*"ok"/);
    expect(first.received.match(/HTTP\/1\.1 200/g)).toHaveLength(2);
  });

  it("are counted until they end", async () => {
    await using served = await listen();
    expect(served.node.connections()).toBe(0);
    const connection = await RawConnection.open(served.port);
    connection.send(`${request}Connection: close\r\n\r\n`);
    await connection.ended;
    const gone = async (): Promise<void> => {
      while (served.node.connections() > 0) await new Promise((resolve) => setImmediate(resolve));
    };
    await gone();
    expect(served.node.connections()).toBe(0);
  });
});

describe("the reference", () => {
  it("states every limit as it is", () => {
    const page = readFileSync(new URL("../../docs/reference/http.md", import.meta.url), "utf8");
    const missing = Object.entries(limits).filter(
      ([name, value]) => !new RegExp(`\\| \`${name}\` +\\| ${value.toLocaleString("en-US")} +\\|`).test(page),
    );
    expect(missing).toEqual([]);
  });
});
