import { createServer as createTcpServer } from "node:net";
import { describe, expect, it } from "vitest";
import { startServer } from "../../src/server/serve.js";
import { RawConnection } from "./raw-connection.js";
import { listen } from "./served.js";
import { StandInNode } from "./stand-in-node.js";

const health = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
const nodes = "GET /cluster/nodes HTTP/1.1\r\nHost: localhost\r\n\r\n";

/** The database holds its answer back until `go`. */
function holdBack(node: StandInNode): { readonly asked: Promise<void>; readonly go: () => void } {
  let go = (): void => undefined;
  let told = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  const asked = new Promise<void>((resolve) => {
    told = resolve;
  });
  Object.assign(node.cluster, {
    nodes: async () => {
      told();
      await held;
      return node.nodes;
    },
  });
  return { asked, go };
}

describe("closing", () => {
  it("finishes the request under way, takes no other, and lets go of idle connections", async () => {
    const served = await listen();
    const { asked, go } = holdBack(served.node);
    using idle = await RawConnection.open(served.port);
    idle.send(health);
    await idle.got(/"ok"/);
    using silent = await RawConnection.open(served.port);
    using busy = await RawConnection.open(served.port);
    busy.send(nodes);
    await asked;
    const closed = served.server.close();
    await Promise.all([idle.ended, silent.ended]);
    await expect(RawConnection.open(served.port)).rejects.toThrow("ECONNREFUSED");
    go();
    await busy.ended;
    expect(busy.answer.status).toBe(200);
    expect(busy.answer.head).toContain("connection: close");
    await closed;
  });

  it("does not wait for ever for a request that does not end", async () => {
    const served = await listen({}, { closeGraceMs: 30 });
    const { asked } = holdBack(served.node);
    using stuck = await RawConnection.open(served.port);
    stuck.send(nodes);
    await asked;
    await served.server.close();
    await stuck.ended;
    expect(stuck.received).toBe("");
  });
});

describe("starting", () => {
  it("on a port that is taken says which, and what to do", async () => {
    const other = createTcpServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as { port: number };
    const node = new StandInNode({ api: { port } });
    await expect(startServer(node)).rejects.toMatchObject({
      code: "ADDRESS_IN_USE",
      message: expect.stringMatching(new RegExp(`^127\\.0\\.0\\.1:${port} is taken.*HOLDFAST_API_PORT`)) as string,
    });
    expect(node.registry.getMetricsAsArray()).toEqual([]);
    await new Promise((resolve) => other.close(resolve));
  });

  it("on an address of another machine says so", async () => {
    const node = new StandInNode({ api: { host: "192.0.2.1", port: 0, insecureHttp: true } });
    await node.token("admin");
    await expect(startServer(node)).rejects.toMatchObject({ code: "ADDRESS_IN_USE" });
  });

  it("says where it listens, with the port that it got", async () => {
    await using served = await listen({ api: { host: "localhost" } });
    expect(served.server.url).toMatch(/^http:\/\/localhost:\d+$/);
    expect((await fetch(`${served.server.url}/health`)).status).toBe(200);
  });
});
