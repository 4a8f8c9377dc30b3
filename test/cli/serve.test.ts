import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { createTestDatabase, makeTestDirectory, type TestDatabase, withClient } from "../support/postgres.js";
import { roleOf } from "../support/serve-cluster.js";
import { quickCluster, ServeProcess } from "../support/serve-process.js";

const statusOf = async (url: string, nodeId: string): Promise<string | undefined> =>
  await withClient(url, async (client) => {
    const { rows } = await client.query("SELECT status FROM holdfast.nodes WHERE node_id = $1", [nodeId]);
    return (rows[0] as { readonly status: string } | undefined)?.status;
  });

/** Of the primary role: a node is elected to one role after another, and a line about it may be about another one. */
async function leads(node: ServeProcess): Promise<void> {
  await expect.poll(async () => (await roleOf(node)).role).toBe("LEADER");
}

describe("holdfast serve", () => {
  let database: TestDatabase;
  /** It is patient with its database, so it begins to wait before the others do. */
  let lost: ServeProcess;

  beforeAll(async () => {
    database = await createTestDatabase();
    const store = { "store.url": "postgres://nobody@127.0.0.1:9/none" };
    lost = await ServeProcess.spawn({ settings: settingsOf("lost", store) });
  });

  afterAll(async () => {
    await lost?.[Symbol.asyncDispose]();
    await database?.drop();
  });

  const settingsOf = (nodeId: string, more: Readonly<Record<string, string | number | boolean>> = {}) => ({
    ...quickCluster,
    "store.url": database.url,
    "cluster.node_id": nodeId,
    ...more,
  });

  it.each(["SIGTERM", "SIGINT"] as const)("drains at %s, leaves the registry, and exits with 0", async (signal) => {
    const nodeId = `leaver-${signal.toLowerCase()}`;
    await using served = await ServeProcess.start({ settings: settingsOf(nodeId) });
    await leads(served);
    expect(await statusOf(database.url, nodeId)).toBe("active");
    served.kill(signal);
    expect(await served.exited).toEqual({ code: 0, signal: null });
    expect(served.output).toContain(`${signal}: draining for at most 30 s`);
    expect(served.output).toContain('"msg":"stopped"');
    expect(await statusOf(database.url, nodeId)).toBe("left");
  });

  it("hands its role over when it is told to stop, without waiting for the lease", async () => {
    await using first = await ServeProcess.start({ settings: settingsOf("first") });
    await leads(first);
    await using second = await ServeProcess.start({ settings: settingsOf("second") });
    first.kill("SIGTERM");
    await leads(second);
    expect((await first.exited).code).toBe(0);
    expect(first.output).toContain('"msg":"gave the role up"');
  });

  it("logs an error that got past everybody, gives its role up, and exits with 1", async () => {
    const throwing = 'process.on("SIGUSR2",()=>{throw/**/new/**/Error("boom")})';
    const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(throwing)}` };
    await using served = await ServeProcess.start({ settings: settingsOf("thrower"), env });
    await leads(served);
    served.kill("SIGUSR2");
    expect(await served.exited).toEqual({ code: 1, signal: null });
    expect(served.output).toContain("an error got past everybody");
    expect(served.output).toContain("boom");
    expect(await statusOf(database.url, "thrower")).toBe("left");
  });

  it("stops at once at the second signal, and says so", async () => {
    // Frozen while both signals arrive, so that it takes them together, however busy the machine is.
    await using served = await ServeProcess.start({ settings: settingsOf("hasty") });
    served.freeze();
    served.kill("SIGTERM");
    served.kill("SIGINT");
    served.thaw();
    expect(await served.exited).toEqual({ code: 1, signal: null });
    expect(served.output).toContain("stopping at once");
  });

  it("says in pretty lines what it does, where the settings ask for it", async () => {
    await using served = await ServeProcess.start({ settings: settingsOf("pretty", { "log.format": "pretty" }) });
    await served.said(`listening at ${served.url}`);
    expect(served.output).not.toContain("other hosts cannot reach");
    expect(served.output).toMatch(/^\d\d:\d\d:\d\d\.\d{3} INFO {2}listening at http:\/\/127/m);
  });

  it("reads the file that is named, and the environment over it", async () => {
    const folder = await makeTestDirectory();
    const file = join(folder, "mine.toml");
    await writeFile(file, '[cluster]\nenabled = true\nnode_id = "from-file"\nname = "default"\n');
    const settings = { "store.url": database.url };
    await using served = await ServeProcess.start({ settings, args: ["--service-config", file], cwd: folder });
    expect(await served.read("/cluster/status")).toMatchObject({ node_id: "from-file", clustered: true });
  });

  it("publishes where it is reached, also where nobody said it, and warns where that is nowhere for others", async () => {
    const settings = settingsOf("found", {
      "api.public_url": "",
      "cluster.roles": "scheduler",
    });
    await using served = await ServeProcess.start({ settings });
    await leads(served);
    const { nodes } = await served.read<{ readonly nodes: readonly { node_id: string; url: string | null }[] }>(
      "/cluster/nodes",
    );
    expect(nodes.find(({ node_id }) => node_id === "found")?.url).toBe(served.url);
    expect(await served.read("/role")).toMatchObject({ leader_url: served.url });
    const warnings = served.output.split("\n").filter((line) => line.includes('"level":40'));
    expect(warnings).toContainEqual(expect.stringContaining("other hosts cannot reach this node"));
    expect(warnings).toContainEqual(expect.stringContaining("no agent reaches the jobs"));
  });

  it("needs no settings at all: one node on the embedded PostgreSQL", async () => {
    await using served = await ServeProcess.start();
    await leads(served);
    expect(await served.read("/cluster/status")).toMatchObject({ role: "single-node", is_leader: true });
    served.kill("SIGTERM");
    expect(await served.exited).toEqual({ code: 0, signal: null });
  });

  it("does not start twice under one name, and exits with 2", async () => {
    await using _served = await ServeProcess.start({ settings: settingsOf("twin") });
    await using second = await ServeProcess.spawn({ settings: settingsOf("twin") });
    expect(await second.exited).toEqual({ code: 2, signal: null });
    expect(second.output).toMatch(/^holdfast: .*\[NODE_ID_TAKEN\]$/m);
  });

  it("does not start where its port is taken, leaves the cluster again, and exits with 2", async () => {
    await using served = await ServeProcess.start({ settings: settingsOf("there") });
    const port = Number(new URL(served.url).port);
    await using second = await ServeProcess.spawn({ settings: settingsOf("late", { "api.port": port }) });
    expect(await second.exited).toEqual({ code: 2, signal: null });
    expect(second.output).toMatch(/^holdfast: .*\[ADDRESS_IN_USE\]$/m);
    expect(await statusOf(database.url, "late")).not.toBe("active");
  });

  it("exits with 2 for settings that are wrong, a line for each", async () => {
    const settings = settingsOf("wrong", { "cluster.heartbeat_seconds": "soon", "cluster.min_nodes": 0 });
    await using served = await ServeProcess.spawn({ settings });
    expect(await served.exited).toEqual({ code: 2, signal: null });
    const lines = served.output.trimEnd().split("\n");
    expect(lines).toHaveLength(2);
    for (const line of lines) expect(line).toMatch(/^holdfast: .*\[BAD_SETTINGS\]$/);
  });

  it("exits with 4 where no database answers", async () => {
    expect(await lost.exited).toEqual({ code: 4, signal: null });
    expect(lost.output).toMatch(/^holdfast: .*\[DATABASE_AWAY\]$/m);
  });

  it("is not ready while it drains", async () => {
    await using served = await ServeProcess.start({ settings: settingsOf("busy") });
    await served.post("/cluster/nodes/busy/drain");
    const ready = await served.get("/ready");
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ draining: true });
    const status = await waitUntil(async () => (await statusOf(database.url, "busy")) === "draining", 10_000);
    expect(status).toBe(true);
  });
});
