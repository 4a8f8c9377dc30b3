import { expect, test } from "vitest";
import { clusterNode, heirOf, leaseOf, quick } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { NodeProcess } from "../support/node-process.js";
import { createTestDatabase, withClient } from "../support/postgres.js";

const single = (url: string, nodeId: string) => ({ store: { url }, cluster: { nodeId } });

test.concurrent("two clusters in one database, each with its schema and name, never meet", async () => {
  await using database = await createTestDatabase();
  const settings = (name: string, schema: string, nodeId: string) =>
    clusterNode(database.url, nodeId, { name }, { schema });
  await using red = await startLocalNode(settings("red", "holdfast", "red-1"));
  await using blue = await startLocalNode(settings("blue", "holdfast_blue", "blue-1"));
  const terms = await Promise.all([red.leads(), blue.leads()]);
  expect(terms.map((term) => term.epoch)).toEqual([1n, 1n]);
  expect([red, blue].map(({ node }) => node.role("scheduler").gate.isLeader)).toEqual([true, true]);
  expect((await red.node.cluster.nodes()).map(({ nodeId }) => nodeId)).toEqual(["red-1"]);
  expect((await blue.node.cluster.nodes()).map(({ nodeId }) => nodeId)).toEqual(["blue-1"]);

  // Neither sees the other's handovers: a second red node takes over, and blue leads on.
  await using next = await startLocalNode(settings("red", "holdfast", "red-2"));
  const elected = next.leads();
  await heirOf(database.url);
  await red.node.role("scheduler").stepDown();
  expect((await elected).epoch).toBe(2n);
  await expect(terms[1]?.verify()).resolves.toBeUndefined();
});

test.concurrent("a schema that belongs to one cluster is refused to another name", async () => {
  await using database = await createTestDatabase();
  await using _red = await startLocalNode(clusterNode(database.url, "red-1", { name: "red" }));
  await expect(startLocalNode(clusterNode(database.url, "blue-1", { name: "blue" }))).rejects.toMatchObject({
    code: "SCHEMA_IN_USE",
    message: expect.stringContaining('belongs to cluster "red"'),
  });
});

test.concurrent("a node outside a cluster leads with an epoch, and every second process is refused by name", async () => {
  await using database = await createTestDatabase();
  await using alone = await startLocalNode(single(database.url, "alone"));
  expect((await alone.leads()).epoch).toBe(1n);
  const refused = { code: "SCHEMA_IN_USE", message: expect.stringContaining('"alone"') };
  await Promise.all([
    expect(startLocalNode(single(database.url, "second"))).rejects.toMatchObject(refused),
    expect(startLocalNode(clusterNode(database.url, "third"))).rejects.toMatchObject(refused),
  ]);
  expect(alone.node.role("scheduler").gate.isLeader).toBe(true);
});

test.concurrent("a node outside a cluster is refused where a cluster runs", async () => {
  await using database = await createTestDatabase();
  await using _member = await startLocalNode(clusterNode(database.url, "member"));
  await expect(startLocalNode(single(database.url, "alone"))).rejects.toMatchObject({
    code: "SCHEMA_IN_USE",
    message: expect.stringContaining('"member"'),
  });
});

test.concurrent("a node outside a cluster that was killed starts again at once, and leads when its old lease is over", async () => {
  await using database = await createTestDatabase();
  const settings = { store: { url: database.url }, cluster: { nodeId: "alone", ...quick } };
  await using killed = await NodeProcess.start({ settings });
  const { epoch = 0n } = await killed.said("elected");
  killed.kill("SIGKILL");
  await killed.exited;
  await using again = await NodeProcess.start({ settings });
  expect((await again.said("elected")).epoch).toBe(epoch + 1n);
});

test.concurrent("a node id that a living process uses is refused, and free again when that process is gone", async () => {
  await using database = await createTestDatabase();
  await using first = await NodeProcess.start({ settings: clusterNode(database.url, "twin", quick) });
  await first.said("elected");
  await expect(startLocalNode(clusterNode(database.url, "twin", quick))).rejects.toMatchObject({
    code: "NODE_ID_TAKEN",
    message: expect.stringContaining(`pid ${first.pid}`),
  });
  first.kill("SIGKILL");
  await first.exited;
  await using second = await startLocalNode(clusterNode(database.url, "twin", quick));
  expect((await second.leads()).epoch).toBe(2n);
});

test.concurrent("a node that closes leaves the registry, and its role at once to another", async () => {
  await using database = await createTestDatabase();
  await using first = await startLocalNode(clusterNode(database.url, "first"));
  await first.leads();
  await using second = await startLocalNode(clusterNode(database.url, "second"));
  const elected = second.leads();
  await heirOf(database.url);
  const before = await leaseOf(database.url);
  await first.node.close();
  expect((await elected).epoch).toBe(before.epoch + 1n);
  const nodes = await second.node.cluster.nodes();
  expect(nodes.map(({ nodeId, status }) => ({ nodeId, status }))).toEqual([
    { nodeId: "first", status: "left" },
    { nodeId: "second", status: "active" },
  ]);
  const { rows } = await withClient(database.url, (client) =>
    client.query("SELECT event, reason, node_id FROM holdfast.history ORDER BY id"),
  );
  expect(rows).toEqual([
    { event: "elected", reason: "first", node_id: "first" },
    { event: "released", reason: "draining", node_id: "first" },
    { event: "elected", reason: "released", node_id: "second" },
  ]);
});
