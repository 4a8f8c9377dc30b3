import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import tls, { connect } from "node:tls";
import { describe, expect, it } from "vitest";
import { startServer } from "../../src/server/serve.js";
import { makeTestDirectory } from "../support/postgres.js";
import { listen, serve } from "./served.js";
import { nodeRow, StandInNode } from "./stand-in-node.js";

const tlsCert = new URL("../support/tls/localhost.crt", import.meta.url).pathname;
const tlsKey = new URL("../support/tls/localhost.key", import.meta.url).pathname;
const ca = readFileSync(tlsCert);

async function get(url: string): Promise<{ readonly status: number | undefined; readonly node: unknown }> {
  return await new Promise((resolve, reject) => {
    request(url, { ca }, (answer) => {
      answer.resume();
      resolve({ status: answer.statusCode, node: answer.headers["x-holdfast-node"] });
    })
      .on("error", reject)
      .end();
  });
}

describe("with a certificate", () => {
  it("the API is encrypted, and its connections are counted", async () => {
    await using served = await listen({ api: { tlsCert, tlsKey } });
    expect(served.server.url).toMatch(/^https:/);
    expect(await get(`${served.server.url}/health`)).toEqual({ status: 200, node: "node-a" });
    const socket = connect({ port: served.port, host: "127.0.0.1", ca });
    await new Promise((resolve) => socket.once("secureConnect", resolve));
    expect(socket.getProtocol()).toBe("TLSv1.3");
    expect(served.node.connections()).toBeGreaterThan(0);
    socket.destroy();
  });

  it("nothing older than TLS 1.2 is spoken, even where the machine would allow it", async () => {
    tls.DEFAULT_MIN_VERSION = "TLSv1";
    tls.DEFAULT_CIPHERS = "DEFAULT@SECLEVEL=0";
    await using served = await listen({ api: { tlsCert, tlsKey } });
    const attempt = async (version: "TLSv1.1" | "TLSv1.2"): Promise<string> =>
      await new Promise((resolve) => {
        const options = { minVersion: "TLSv1" as const, maxVersion: version, ciphers: "DEFAULT@SECLEVEL=0" };
        const socket = connect({ port: served.port, host: "127.0.0.1", ca, ...options });
        socket.once("secureConnect", () => {
          resolve("connected");
          socket.destroy();
        });
        socket.once("error", () => resolve("refused"));
      });
    expect(await attempt("TLSv1.2")).toBe("connected");
    expect(await attempt("TLSv1.1")).toBe("refused");
  });

  it("the cookie of a session goes over encrypted connections alone", async () => {
    await using served = await listen({ api: { tlsCert, tlsKey } });
    const token = await served.node.token("viewer");
    const cookie = await new Promise((resolve, reject) => {
      const headers = { "content-type": "application/json" };
      request(`${served.server.url}/session`, { ca, method: "POST", headers }, (answer) => {
        answer.resume();
        resolve(answer.headers["set-cookie"]);
      })
        .on("error", reject)
        .end(JSON.stringify({ token }));
    });
    expect(cookie).toEqual([expect.stringMatching(/^holdfast_session=hf_.*; Secure$/)]);
  });

  it("a leader whose certificate nobody vouches for is sent no token", async () => {
    await using leader = await listen({ api: { tlsCert, tlsKey } });
    const node = new StandInNode();
    node.stand("STANDBY", "scheduler", "node-b");
    node.nodes = [nodeRow("node-b", { url: leader.server.url })];
    const headers = { ...(await node.bearer("operator")), "x-holdfast-forward": "leader" };
    await using standby = serve(node);
    const answer = await standby.app.inject({ method: "POST", url: "/v1/jobs", payload: { op: "x" }, headers });
    expect(answer.json()).toMatchObject({ error: "NODE_AWAY", message: expect.stringContaining("CERT") as string });
    expect(leader.node.lines.filter(({ msg }) => msg === "answered")).toEqual([]);
  });

  it("a port off loopback needs no insecure_http", async () => {
    const node = new StandInNode({ api: { host: "0.0.0.0", port: 0, tlsCert, tlsKey } });
    await node.token("admin");
    const server = await startServer(node);
    const { port } = new URL(server.url);
    expect(await get(`https://localhost:${port}/cluster/status`)).toMatchObject({ status: 401 });
    await server.close();
  });

  it("a key that does not belong to it is found out at the start", async () => {
    const file = join(await makeTestDirectory(), "broken.key");
    writeFileSync(file, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    const node = new StandInNode({ api: { port: 0, tlsCert, tlsKey: file } });
    await expect(startServer(node)).rejects.toMatchObject({
      code: "BAD_SETTINGS",
      message: expect.stringContaining("api.tls_key") as string,
    });
  });
});
