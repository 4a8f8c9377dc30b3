import { describe, expect, it } from "vitest";
import { serve, serveOpen } from "./served.js";
import { StandInNode } from "./stand-in-node.js";

describe("the metrics of the server", () => {
  it("count by the pattern of the path, never by the path", async () => {
    await using served = await serveOpen();
    const { app } = served;
    await app.inject({ method: "POST", url: "/cluster/nodes/hf_canary/drain" });
    await app.inject({ url: "/hf_canary" });
    await app.inject({ url: "/health?hf_canary=1" });
    await app.inject({ url: "/health" });
    const { body, headers } = await app.inject({ url: "/metrics" });
    expect(headers["content-type"]).toMatch(/^text\/plain/);
    expect(body).toContain(
      'holdfast_http_requests_total{method="POST",route="/cluster/nodes/:id/drain",status="200"} 1',
    );
    expect(body).toContain('holdfast_http_requests_total{method="GET",route="unmatched",status="404"} 1');
    expect(body).toContain('holdfast_http_requests_total{method="GET",route="/health",status="200"} 2');
    expect(body).toMatch(/^holdfast_event_loop_lag_seconds \d/m);
    expect(body).not.toContain("canary");
  });

  it("have the prefix of the settings, and leave the registry with the server", async () => {
    const node = new StandInNode({ metrics: { prefix: "app_" } });
    const served = serve(node);
    expect(await node.registry.metrics()).toContain("app_http_requests_total");
    await served.app.close();
    expect(node.registry.getMetricsAsArray()).toEqual([]);
    await using again = serve(node);
    expect((await again.app.inject({ url: "/health" })).statusCode).toBe(200);
  });

  it("see an event loop that was held up", async () => {
    await using served = await serveOpen();
    const lag = async (): Promise<number> => {
      const { body } = await served.app.inject({ url: "/metrics" });
      return Number(body.match(/^holdfast_event_loop_lag_seconds (.*)$/m)?.[1]);
    };
    // Again and again, because the monitor sees it only between two looks of its own.
    const heldUp = async (): Promise<number> => {
      const until = performance.now() + 150;
      while (performance.now() < until);
      return await lag();
    };
    await expect.poll(heldUp).toBeGreaterThan(0.1);
  });

  it("of the whole cluster come from the node", async () => {
    await using served = await serveOpen();
    served.node.clusterMetrics = async () => await Promise.resolve('up{node="node-b"} 1\n');
    expect((await served.app.inject({ url: "/metrics/cluster" })).body).toBe('up{node="node-b"} 1\n');
  });
});

describe("the log of the server", () => {
  it("has one line a request at debug level: no query, no header, no body, no path of the caller's own", async () => {
    const node = new StandInNode();
    const secret = await node.token("admin");
    const headers = { authorization: `Bearer ${secret}`, "x-thing": "hf_canary" };
    await using served = serve(node);
    const payload = { name: "hf_canary", role: "viewer" };
    await served.app.inject({ method: "POST", url: "/tokens", headers, payload });
    await served.app.inject({ url: "/hf_canary?hf_canary=1", headers });
    await served.app.inject({ url: "/cluster/history?cursor=hf_canary", headers });
    const lines = node.lines.filter(({ msg }) => msg === "answered");
    expect(lines).toMatchObject([
      { level: 20, method: "POST", route: "/tokens", status: 201, ms: expect.any(Number), node_id: "node-a" },
      { level: 20, method: "GET", route: "unmatched", status: 404 },
      { level: 20, method: "GET", route: "/cluster/history", status: 422 },
    ]);
    const all = JSON.stringify(node.lines);
    expect(all).not.toContain("canary");
    expect(all).not.toContain(secret);
  });
});
