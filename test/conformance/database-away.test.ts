import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { StatusAnswer } from "../../src/server/cluster-answers.js";
import { startTestServer } from "../support/postgres.js";
import { roleOf, ServeCluster } from "../support/serve-cluster.js";
import { programPath, quickCluster, type ServeProcess, serveEnvironment } from "../support/serve-process.js";

const run = promisify(execFile);

/** The first token is made straight in the database. */
async function createToken(url: string, name: string, role: string): Promise<string> {
  const args = [programPath, "token", "create", "--direct", "--name", name, "--role", role];
  const { stdout } = await run(process.execPath, args, {
    env: serveEnvironment({ ...quickCluster, "store.url": url }),
  });
  return stdout.trim();
}

test("while the database is away a node answers for itself from memory, knows its callers, and has shut its gate in time", async () => {
  await using server = await startTestServer();
  const token = await createToken(server.url, "viewer", "viewer");
  await using cluster = await ServeCluster.start(server.url, 2);
  const leader = await cluster.leader();
  const [standby] = await cluster.standbys();
  const authorization = { authorization: `Bearer ${token}` };
  const status = (node: ServeProcess | undefined) =>
    node?.read<StatusAnswer>("/cluster/status", authorization) ?? Promise.reject(new Error("no node"));
  expect(await status(leader)).toMatchObject({ is_leader: true, role: "primary", clustered: true });
  expect(await status(standby)).toMatchObject({ is_leader: false, role: "standby" });
  expect((await leader.get("/ready")).status).toBe(200);

  await server.stop("immediate");
  for (const node of cluster.nodes) {
    expect(await node.read("/health")).toEqual({ status: "ok" });
    expect(await node.read("/healthz")).toMatchObject({ ok: true });
    expect(["LEADER", "STANDBY"]).toContain((await roleOf(node)).role);
    expect(await status(node)).toMatchObject({ clustered: true, config_version: expect.any(Number) });
    expect((await node.get("/cluster/status")).status).toBe(401);
    expect((await node.get("/metrics", authorization)).status).toBe(200);
  }
  const away = await leader.get("/cluster/nodes", authorization);
  expect(away.status).toBe(503);
  expect(await away.json()).toMatchObject({ error: "DATABASE_AWAY" });

  // The trust runs out, whatever the database does: nobody answers as leader, and nobody is named as one.
  await expect.poll(async () => (await status(leader)).role).toBe("standby");
  const unknown = { role: "STANDBY", leader_id: null, leader_epoch: null, leader_url: null };
  for (const node of cluster.nodes) {
    await expect.poll(() => roleOf(node)).toMatchObject(unknown);
    expect((await node.get("/ready")).status).toBe(503);
    expect(await node.read("/ready")).toMatchObject({ database: false, draining: false });
  }
  const refused = await fetch(`${leader.url}/v1/jobs`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
  });
  expect(refused.status).toBe(403);

  await server.start();
  const next = await cluster.leader();
  expect((await roleOf(next)).leader_epoch).toBeGreaterThan(1);
  await expect.poll(async () => (await next.get("/ready")).status).toBe(200);
});
