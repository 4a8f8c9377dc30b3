import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CommandResult, runCommand, runHere } from "../support/command.js";
import { freePort } from "../support/free-ports.js";
import { createTestDatabase, type TestDatabase } from "../support/postgres.js";
import { ServeCluster } from "../support/serve-cluster.js";
import { patientCluster } from "../support/serve-process.js";

describe("commands that read", () => {
  let database: TestDatabase;
  let cluster: ServeCluster;
  let url = "";

  beforeAll(async () => {
    database = await createTestDatabase();
    cluster = await ServeCluster.start(database.url, 2, patientCluster);
    url = cluster.node("node-2").url;
  });

  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await database?.drop();
  });

  const holdfast = (...args: readonly string[]): Promise<CommandResult> =>
    runHere(args, { env: { HOLDFAST_URL: url } });

  const done = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await holdfast(...args);
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
    return stdout;
  };

  it.each([
    [["cluster", "status"], "/cluster/status"],
    [["cluster", "nodes"], "/cluster/nodes"],
    [["cluster", "leaders"], "/cluster/leaders"],
    [["cluster", "history"], "/cluster/history"],
    [["cluster", "history", "--role", "scheduler", "--limit", "1"], "/cluster/history?role=scheduler&limit=1"],
    [["token", "list"], "/tokens"],
  ])("%j --json prints the node's own answer", async (args, path) => {
    const printed = JSON.parse(await done(...args, "--json")) as Record<string, unknown>;
    const answered = await cluster.node("node-2").read<Record<string, unknown>>(path);
    expect(Object.keys(printed)).toEqual(Object.keys(answered));
    expect(shapeOf(printed)).toEqual(shapeOf(answered));
  });

  it("cluster status says where the node stands, and the cluster in figures", async () => {
    const said = await done("cluster", "status");
    expect(said).toMatch(/^node +node-2$/m);
    expect(said).toMatch(/^role +standby$/m);
    expect(said).toMatch(/^nodes +2 active, 0 joining, 0 draining, 0 dead$/m);
    expect(said).toMatch(/^leaders +.*\bnode-1 leads scheduler$/m);
  });

  it("cluster nodes is a table with the leader in it", async () => {
    const [title, first, second] = (await done("cluster", "nodes")).split("\n");
    expect(title).toMatch(/^node +status +leads +seen/);
    expect(first).toMatch(/^node-1 +active +yes +(just now|[\d.]+ m?s ago)/);
    expect(second).toMatch(/^node-2 +active +(just now|[\d.]+ m?s ago)/);
  });

  it("cluster leaders and cluster history name the leader, its epoch and why it leads", async () => {
    expect(await done("cluster", "leaders")).toMatch(/^scheduler +node-1 +1 +[\d.]+ m?s/m);
    expect(await done("cluster", "history")).toMatch(/ scheduler +1 +elected +first +node-1/);
  });

  it("node show tells all that is known of one node", async () => {
    const printed = JSON.parse(await done("node", "show", "node-1", "--json")) as Record<string, unknown>;
    expect(printed).toMatchObject({ node_id: "node-1", is_leader: true, pid: cluster.node("node-1").pid });
    expect(await done("node", "show", "node-1")).toContain(`http://127.0.0.1`);
    const unknown = await holdfast("node", "show", "nobody");
    expect(unknown).toMatchObject({ code: 2, stdout: "" });
    expect(unknown.stderr).toMatch(/^holdfast: There is no node "nobody".*known: node-1, node-2\. \[UNKNOWN_NODE\]\n$/);
  });

  it("a role that nobody knows exits with 2", async () => {
    const { code, stderr } = await holdfast("cluster", "history", "--role", "nonsense");
    expect(code).toBe(2);
    expect(stderr).toMatch(/\[UNKNOWN_ROLE\]\n$/);
  });

  it("no node that answers exits with 4 and the way out; --verbose adds the stack", async () => {
    const nowhere = `http://127.0.0.1:${await freePort()}`;
    const { code, stdout, stderr } = await runCommand(["cluster", "nodes"], { env: { HOLDFAST_URL: nowhere } });
    expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
    expect(stderr).toBe(
      `holdfast: No node answers at ${nowhere} (connection refused): start one with "holdfast serve", or name another with --url or HOLDFAST_URL. [NODE_AWAY]\n`,
    );
    const verbose = await runHere(["cluster", "nodes", "--url", nowhere, "--verbose"]);
    expect(verbose.stderr).toContain("\n    at ");
  });

  it("something else that answers there is told from a node", async () => {
    const server = createServer((_request, response) => response.setHeader("content-type", "text/html").end("<html>"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    try {
      const { code, stderr } = await runHere(["cluster", "status", "--url", `http://127.0.0.1:${port}`]);
      expect(code).toBe(4);
      expect(stderr).toContain("is no Holdfast node (HTTP 200, text/html)");
    } finally {
      server.close();
    }
  });
});

/** The kinds of all values, since the values themselves go on while one looks. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)]));
}
