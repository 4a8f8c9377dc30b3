import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { ServedEngineNode } from "../api/engine-scene.js";
import { type CommandResult, runHere } from "../support/command.js";
import { ConfigFiles, type Files } from "../support/config-folder.js";
import { calm, clusterNode } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { createTestDatabase } from "../support/postgres.js";

/** Files that nobody brings: what it does with them does not matter here, but that it loads. */
const graph = (folder: string, remark: string): Files => ({
  "feed.ts": `
import { defineHandler, defineInbound, defineOutbound, defineRouter } from "holdfast/engine";
// ${remark}
const files = (name: string) => ({ kind: "file", folder: ${JSON.stringify(folder)} + "/" + name }) as const;
export const filesIn = defineInbound({ name: "files-in", router: "all", transport: files("in") });
export const all = defineRouter({ name: "all", handlers: ["drop"], route: () => [] });
export const drop = defineHandler({ name: "drop", outbounds: ["files-out"], handle: () => [] });
export const filesOut = defineOutbound({ name: "files-out", transport: files("out") });
`,
});

async function start(url: string, id: string, folder: string) {
  const served = new ServedEngineNode(await startLocalNode(clusterNode(url, id, calm)));
  await served.node.engine.open(folder);
  await served.app.listen({ host: "127.0.0.1", port: 0 });
  const address = `http://127.0.0.1:${(served.app.server.address() as AddressInfo).port}`;
  const holdfast = async (...args: readonly string[]): Promise<CommandResult> =>
    await runHere(args, { env: { HOLDFAST_URL: address } });
  const dispose = async (): Promise<void> => await served.close();
  return { node: served.node, holdfast, [Symbol.asyncDispose]: dispose };
}

it("a reload waits for the other nodes, and says which of them cannot, and why", async () => {
  await using database = await createTestDatabase();
  await using incoming = await ConfigFiles.write({});
  await using mine = await ConfigFiles.write(graph(incoming.path, "first"));
  await using theirs = await ConfigFiles.write(graph(incoming.path, "first"));
  await using a = await start(database.url, "a", mine.path);
  await expect.poll(() => a.node.role("engine").gate.isLeader).toBe(true);
  await using b = await start(database.url, "b", theirs.path);

  await mine.write(graph(incoming.path, "second"));
  await theirs.write(graph(incoming.path, "second"));
  const both = await a.holdfast("config", "reload");
  expect(both.code).toBe(0);
  expect(both.stdout).toMatch(/^The folder \([0-9a-f]{12}\) runs as version 1\.\nAll 2 nodes run version 1\.\n$/m);
  expect(b.node.configVersion).toBe(1);

  await theirs.write({ "feed.ts": "export const nothing = ;" });
  const broken = await a.holdfast("config", "reload", "--json");
  expect(broken.code).toBe(1);
  expect(JSON.parse(broken.stdout)).toMatchObject({
    version: 2,
    converged: false,
    nodes: [
      { node_id: "a", version: 2, error: null, converged: true },
      { node_id: "b", version: 1, error: expect.stringMatching(/^version 2 cannot run: feed\.ts:1/), converged: false },
    ],
  });
  expect((await b.holdfast("config", "version")).stdout).toMatch(
    /^b +active +1 +[0-9a-f]{12} +version 2 cannot run: feed\.ts:1.*$/m,
  );

  const again = await a.holdfast("config", "reload");
  expect([again.code, again.stdout]).toEqual([
    1,
    expect.stringMatching(/\nNode b does not: version 3 cannot run: feed/),
  ]);

  // Nothing is wrong with it, but it is not the leader's.
  await theirs.write(graph(incoming.path, "third"));
  const other = await a.holdfast("config", "reload");
  expect(other.code).toBe(1);
  expect(other.stdout).toMatch(
    /\nNode b does not: its folder is another one \([0-9a-f]{12}\): give it the leader's\.\n$/,
  );
  const refused = await b.holdfast("config", "reload", "--dry-run");
  expect([refused.code, refused.stderr]).toEqual([3, expect.stringMatching(/\[NOT_LEADER\]\n$/)]);
});

it("the reference sets are shown with what runs, and why one could not be built anew", async () => {
  await using database = await createTestDatabase();
  await using incoming = await ConfigFiles.write({});
  const sets = `
import { defineReference } from "holdfast/engine";
const from = (path: string) => ({ kind: "file", path }) as const;
export const wards = defineReference({ name: "wards", from: from("wards.csv"), key: "ward", every: "1s" });
export const labs = defineReference({ name: "labs", from: from("labs.csv"), key: "lab", every: "1s" });
`;
  await using files = await ConfigFiles.write({
    ...graph(incoming.path, "first"),
    "sets.ts": sets,
    "wards.csv": "ward,name\nW1,First\nW2,Second\n",
  });
  await using a = await start(database.url, "a", files.path);
  const shown = async () => (await a.holdfast("config", "version")).stdout;
  await expect.poll(shown).toMatch(/^wards +1 +2 +-$/m);
  await expect
    .poll(shown)
    .toMatch(/^labs +- +- +.*labs\.csv cannot be read \(ENOENT\).* Messages that need it wait\.$/m);
  await files.write({ "wards.csv": "ward,name\nW1,First\nW1,Second\n" });
  await expect.poll(shown).toMatch(/^wards +1 +2 +.*"W1" is the key of two rows.*$/m);
  const { references } = JSON.parse((await a.holdfast("config", "version", "--json")).stdout) as {
    readonly references: unknown;
  };
  const failing = { error: expect.any(String), failed_at: expect.any(Number) };
  expect(references).toEqual([
    { name: "labs", version: null, rows: null, published_at: null, ...failing },
    { name: "wards", version: 1, rows: 2, published_at: expect.any(Number), ...failing },
  ]);
});
