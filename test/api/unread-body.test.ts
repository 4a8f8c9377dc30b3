import { describe, expect, it, vi } from "vitest";
import { RawConnection } from "./raw-connection.js";
import { listen } from "./served.js";

const head = (method: string, path: string, ...headers: readonly string[]): string =>
  [`${method} ${path} HTTP/1.1`, "Host: localhost", "Content-Type: application/json", ...headers, "", ""].join("\r\n");

const errorOf = (connection: RawConnection): string =>
  (JSON.parse(connection.answer.body) as { readonly error: string }).error;

describe("a body for a path that nobody has", () => {
  it.each([
    ["POST", "/nope", "Content-Length: 100000"],
    ["PUT", "/tokens", "Content-Length: 100000"],
    ["PATCH", "/cluster/status", "Transfer-Encoding: chunked"],
    ["DELETE", "/v1/nothing", "Content-Length: 100000"],
    ["POST", "/nope/%zz", "Content-Length: 100000"],
  ])("is not waited for (%s %s), and its connection ends", async (method, path, length) => {
    await using served = await listen();
    using connection = await RawConnection.open(served.port);
    connection.send(head(method, path, length)); // And not a byte of the body.
    await connection.ended;
    expect(connection.answer.status).toBe(path.includes("%") ? 400 : 404);
    expect(connection.answer.head).toContain("connection: close");
    expect(connection.answer.head).toContain("x-holdfast-node: node-a");
  });

  it("is not parsed either when it is there, and its sender hears that there is nothing", async () => {
    await using served = await listen();
    const parse = vi.spyOn(JSON, "parse");
    const body = "[".repeat(60_000);
    const headers = { "content-type": "application/json" };
    for (const path of ["/nope", "/v1/nope"]) {
      const answer = await fetch(`${served.server.url}${path}`, { method: "POST", headers, body });
      expect(answer.status).toBe(404);
    }
    const parsed = parse.mock.calls.filter(([text]) => text.startsWith("[["));
    parse.mockRestore();
    expect(parsed).toEqual([]);
  });

  it("that was not announced ends no connection", async () => {
    await using served = await listen();
    using connection = await RawConnection.open(served.port);
    connection.send(head("POST", "/nope", "Content-Length: 0"));
    await connection.got(/NOT_FOUND/);
    connection.send(head("GET", "/health"));
    await connection.got(/"ok"/);
    expect(connection.received.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 404", "HTTP/1.1 200"]);
  });
});

describe("a client that waits before it sends its body", () => {
  const waiting = "Expect: 100-continue";

  it("is told to go on once it is admitted", async () => {
    await using served = await listen();
    const body = JSON.stringify({ name: "patient", role: "viewer" });
    using connection = await RawConnection.open(served.port);
    connection.send(head("POST", "/tokens", waiting, `Content-Length: ${body.length}`));
    await connection.got(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
    expect(served.node.access.isOpen).toBe(true);
    connection.send(body);
    await connection.got(/HTTP\/1\.1 201 [\s\S]*"secret"/);
  });

  it.each([
    ["whose path nobody has", "/nope", 404],
    ["who has no token", "/tokens", 401],
    ["whose token may not", "/cluster/nodes/node-a/drain", 403],
    ["at a node that does not lead", "/v1/jobs", 409],
  ] as const)("%s is refused without being asked for it", async (_name, path, status) => {
    await using served = await listen();
    served.node.stand("STANDBY", "scheduler", "node-b");
    const secret = await served.node.token(status === 403 ? "viewer" : "operator");
    const authorization = status === 401 ? "X-None: 1" : `Authorization: Bearer ${secret}`;
    using connection = await RawConnection.open(served.port);
    connection.send(head("POST", path, waiting, authorization, "Content-Length: 5"));
    await connection.ended;
    expect(connection.received).not.toContain("100 Continue");
    expect(connection.answer.status).toBe(status);
    expect(connection.answer.head).toContain("connection: close");
  });

  it("has nothing to wait for where there is no body, or where HTTP is too old for it", async () => {
    await using served = await listen();
    for (const sent of [
      head("GET", "/health", waiting, "Connection: close"),
      `GET /health HTTP/1.0\r\n${waiting}\r\n\r\n`,
    ]) {
      using connection = await RawConnection.open(served.port);
      connection.send(sent);
      await connection.ended;
      expect(connection.answer.status).toBe(200);
    }
  });
});

it.each(["foo", "100-continue, foo", "200-ok"])(
  "a client that expects %s is refused in our words",
  async (expected) => {
    await using served = await listen();
    using connection = await RawConnection.open(served.port);
    connection.send(head("POST", "/tokens", `Expect: ${expected}`, "Content-Length: 100"));
    await connection.ended;
    expect(connection.answer.status).toBe(400);
    expect(errorOf(connection)).toBe("BAD_REQUEST");
    expect(connection.answer.head).toContain("x-holdfast-node: node-a");
    expect(await served.node.registry.metrics()).toContain('route="/tokens",status="400"} 1');
  },
);
