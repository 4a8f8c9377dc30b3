import { once } from "node:events";
import { test } from "vitest";
import { isReady } from "../../src/membership/posture.js";
import { clusterNode, heirOf, quick } from "../support/election.js";
import { type LocalNode, startLocalNode } from "../support/local-node.js";
import { NodeProcess } from "../support/node-process.js";
import { createTestDatabase, withClient } from "../support/postgres.js";

const ask = (
  { node }: LocalNode,
  asking: { kind: "drain" | "resume" | "step_down"; nodeId?: string; role?: string; to?: string },
) => node.cluster.ask({ ...asking, requestedBy: "test", waitMs: 10_000 });
const statusOf = async ({ node }: LocalNode, id: string) => (await node.cluster.node(id)).status;
const storedStatus = (url: string, id: string) =>
  withClient(url, async (client) => {
    const { rows } = await client.query("SELECT status FROM holdfast.nodes WHERE node_id = $1", [id]);
    return rows[0]?.status as string | undefined;
  });

test.concurrent("a node that was killed is shown and marked as dead, and one that starts in its place as active", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using leader = await startLocalNode(clusterNode(database.url, "leader", quick));
  await leader.leads();
  const settings = clusterNode(database.url, "mortal", quick);
  await using mortal = await NodeProcess.start({ settings });
  expect(await statusOf(leader, "mortal")).toBe("active");
  mortal.kill("SIGKILL");
  await expect.poll(() => statusOf(leader, "mortal"), { timeout: 10_000 }).toBe("dead");
  await expect.poll(() => storedStatus(database.url, "mortal"), { timeout: 10_000 }).toBe("dead");
  expect(leader.log.map(({ msg }) => msg)).toContain("a node died");
  expect(await leader.node.cluster.info()).toMatchObject({ totalNodes: 2, activeNodes: 1, deadNodes: 1 });
  await expect.poll(() => nodesMetric(leader, "dead")).toBe(1);
  await using _reborn = await NodeProcess.start({ settings });
  expect(await statusOf(leader, "mortal")).toBe("active");
  expect(await leader.node.cluster.byStatus("dead")).toEqual([]);
});

async function nodesMetric({ node }: LocalNode, status: string): Promise<number | undefined> {
  const metric = await node.registry.getSingleMetric("holdfast_cluster_nodes")?.get();
  return metric?.values.find(({ labels }) => labels.status === status)?.value;
}

test.concurrent("a status that this version does not know reads as dead", async ({ expect }) => {
  await using database = await createTestDatabase();
  await using node = await startLocalNode(clusterNode(database.url, "here", quick));
  await withClient(database.url, async (client) => {
    await client.query(
      `INSERT INTO holdfast.nodes (node_id, incarnation, clustered, status, hostname, pid, version)
       VALUES ('later', 'x', true, 'hibernating', 'elsewhere', 1, '9')`,
    );
  });
  expect(await statusOf(node, "later")).toBe("dead");
  expect(await node.node.cluster.counts()).toMatchObject({ active: 1, dead: 1 });
  await expect.poll(() => nodesMetric(node, "dead")).toBe(1);
});

test.concurrent("tombstones are forgotten in time by whoever leads", async ({ expect }) => {
  await using database = await createTestDatabase();
  await using leader = await startLocalNode(clusterNode(database.url, "leader", { ...quick, forgetAfter: "2s" }));
  await leader.leads();
  const gone = await startLocalNode(clusterNode(database.url, "gone", quick));
  await gone.node.close();
  expect(await statusOf(leader, "gone")).toBe("left");
  expect((await leader.node.cluster.info()).totalNodes).toBe(1);
  await expect.poll(() => storedStatus(database.url, "gone"), { timeout: 10_000 }).toBeUndefined();
  await expect(leader.node.cluster.node("gone")).rejects.toMatchObject({ code: "UNKNOWN_NODE" });
});

test.concurrent("any node may ask another to drain and to resume, and hears when it has", async ({ expect }) => {
  await using database = await createTestDatabase();
  await using a = await startLocalNode(clusterNode(database.url, "a", quick));
  const term = await a.leads();
  await using b = await startLocalNode(clusterNode(database.url, "b", quick));
  const elected = b.leads();
  await heirOf(database.url);
  const drained = await ask(b, { kind: "drain", nodeId: "a" });
  expect(drained).toMatchObject({ nodeId: "a", outcome: { kind: "done" }, actedAt: expect.any(Number) });
  expect(term.signal.aborted).toBe(true);
  expect((await elected).epoch).toBe(2n);
  expect(a.node.posture().role).toBe("DRAINING");
  expect(() => a.node.work.enter()).toThrow("draining");
  expect(a.node.readiness()).toMatchObject({ draining: true, database: true });
  await expect.poll(() => statusOf(b, "a")).toBe("draining");
  // A draining node does not take the role back: the next leader is again the only other candidate.
  await b.node.role("scheduler").stepDown();
  await expect.poll(() => b.node.role("scheduler").gate.isLeader).toBe(true);
  expect(b.node.posture()).toMatchObject({ leaderId: "b", leaderEpoch: 3n });
  expect(a.node.role("scheduler").gate.isLeader).toBe(false);

  const again = a.leads();
  expect(await ask(b, { kind: "resume", nodeId: "a" })).toMatchObject({ outcome: { kind: "done" } });
  await expect.poll(() => statusOf(b, "a")).toBe("active");
  using _work = a.node.work.enter();
  expect(a.node.posture().role).not.toBe("DRAINING");
  await ask(a, { kind: "drain", nodeId: "b" });
  expect((await again).epoch).toBe(4n);
});

test.concurrent("a leader that drains finishes its work before it releases the role, and leaves last", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  const a = await startLocalNode(clusterNode(database.url, "a"));
  await a.leads();
  await using b = await startLocalNode(clusterNode(database.url, "b"));
  const elected = b.leads();
  await heirOf(database.url);
  const story: string[] = [];
  const work = a.node.work.enter();
  void elected.then(() => story.push("b leads"));
  const draining = once(a.node, "draining");
  const closed = a.node.close().then(() => story.push("a is closed"));
  await draining;
  await expect.poll(() => statusOf(b, "a")).toBe("draining");
  expect(story).toEqual([]);
  expect((await b.node.cluster.leases())[0]?.nodeId).toBe("a");
  story.push("work is done");
  work[Symbol.dispose]();
  await closed;
  await elected;
  expect(story[0]).toBe("work is done");
  const { lastHeartbeat: leftAt, status } = await b.node.cluster.node("a");
  expect(status).toBe("left");
  const released = (await b.node.cluster.history()).find(({ event }) => event === "released");
  expect(released?.at).toBeLessThan(leftAt);
});

test.concurrent("a leader that drains is told to stop at once, and a drain that is taken back lets it contend again", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using a = await startLocalNode(clusterNode(database.url, "a", quick));
  const term = await a.leads();
  using _work = a.node.work.enter();
  const drained = a.node.drain();
  expect(term.signal.aborted).toBe(true);
  // What is under way may still write: the role is held until it has ended.
  const { gate } = a.node.role("scheduler");
  expect(gate.isLeader).toBe(false);
  gate.ensureEpoch(1n);
  expect(a.node.posture()).toMatchObject({ role: "DRAINING", isLeader: true, leaderId: "a" });
  a.node.resume();
  await drained;
  using _more = a.node.work.enter();
  await expect.poll(() => a.node.posture()).toMatchObject({ role: "LEADER", leaderEpoch: 2n });
});

test.concurrent("a step-down is asked of whoever leads, in favour of a node by name, and its refusal says why", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using a = await startLocalNode(clusterNode(database.url, "a"));
  await a.leads();
  await using b = await startLocalNode(clusterNode(database.url, "b"));
  await using c = await startLocalNode(clusterNode(database.url, "c", { promotable: false }));
  b.node.role("scheduler");
  const elected = c.leads();
  await expect(ask(b, { kind: "step_down", role: "scheduler", to: "nobody" })).rejects.toMatchObject({
    code: "REFUSED",
    message: expect.stringContaining('"nobody"'),
  });
  expect(a.node.role("scheduler").gate.isLeader).toBe(true);
  expect(await ask(b, { kind: "step_down", role: "scheduler", to: "c" })).toMatchObject({ nodeId: "a" });
  await elected;
  await expect.poll(() => b.node.posture().leaderId).toBe("c");
  await expect(ask(b, { kind: "step_down", role: "unheard-of" })).rejects.toMatchObject({ code: "UNKNOWN_ROLE" });
  await expect(ask(b, { kind: "drain", nodeId: "nobody" })).rejects.toMatchObject({ code: "UNKNOWN_NODE" });
});

test.concurrent("a request to a process that has been replaced is never acted on by the next", async ({ expect }) => {
  await using database = await createTestDatabase();
  await using b = await startLocalNode(clusterNode(database.url, "b", quick));
  await using a = await startLocalNode(clusterNode(database.url, "a", quick));
  let drained = false;
  a.node.once("draining", () => {
    drained = true;
  });
  const stale = await withClient(database.url, async (client) => {
    const { rows } = await client.query<{ id: string }>(
      `INSERT INTO holdfast.requests (kind, node_id, incarnation, requested_by)
       VALUES ('drain', 'a', 'a process of yesterday', 'test') RETURNING id`,
    );
    return rows[0]?.id;
  });
  // A request that is meant for it is answered, by the hint and by the beat, and the other stays.
  expect(await ask(b, { kind: "resume", nodeId: "a" })).toMatchObject({ outcome: { kind: "done" } });
  const { lastHeartbeat } = await b.node.cluster.node("a");
  await expect.poll(async () => (await b.node.cluster.node("a")).lastHeartbeat).toBeGreaterThan(lastHeartbeat);
  const { rows } = await withClient(database.url, (client) =>
    client.query("SELECT acted_at FROM holdfast.requests WHERE id = $1", [stale]),
  );
  expect(rows).toEqual([{ acted_at: null }]);
  expect(drained).toBe(false);
});

test.concurrent("a drain has one bound for everything, and the node leaves in order when its work does not end", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  const a = await startLocalNode({ ...clusterNode(database.url, "a", quick), shutdown: { drainTimeoutSeconds: 1 } });
  a.node.role("scheduler").lead(async (term) => void (await once(term.signal, "abort")));
  await expect.poll(() => a.node.role("scheduler").gate.isLeader).toBe(true);
  a.node.work.enter(); // And never ends.
  const startedAt = performance.now();
  await a.node.drain();
  const drainedAt = performance.now();
  await a.node.close();
  expect(drainedAt - startedAt).toBeGreaterThan(900);
  // The second wait is over at once: were the bound spent again, it would take a second more than this.
  expect(performance.now() - drainedAt).toBeLessThan(900);
  await using b = await startLocalNode(clusterNode(database.url, "b", quick));
  expect(await statusOf(b, "a")).toBe("left");
  // Its work may still run, so there is no early release: the lease has to run out.
  expect((await b.node.cluster.history()).map(({ event }) => event)).toEqual(["elected"]);
});

test.concurrent("a node is ready once as many as it needs are active, and no longer when they are gone", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using a = await startLocalNode(clusterNode(database.url, "a", { ...quick, minNodes: 2 }));
  expect(a.node.readiness()).toEqual({
    database: true,
    migrations: true,
    registered: true,
    minNodes: false,
    draining: false,
  });
  const b = await startLocalNode(clusterNode(database.url, "b", quick));
  await expect.poll(() => isReady(a.node.readiness())).toBe(true);
  await b.node.close();
  await expect.poll(() => a.node.readiness().minNodes).toBe(false);
});

test.concurrent("a posture is known for every role of the cluster, also one that this node does not contend for", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using a = await startLocalNode(clusterNode(database.url, "a", quick));
  await a.leads("reporter");
  await using b = await startLocalNode(clusterNode(database.url, "b", quick));
  await expect
    .poll(() => b.node.posture("reporter"))
    .toMatchObject({ role: "STANDBY", leaderId: "a", leaderEpoch: 1n });
  expect(b.node.posture()).toMatchObject({ nodeId: "b", role: "STANDBY", leaderId: null, leaderEpoch: null });
  expect(() => b.node.posture("unheard-of")).toThrow("is not known");
  expect(() => b.node.posture("No Role")).toThrow("No Role");
});
