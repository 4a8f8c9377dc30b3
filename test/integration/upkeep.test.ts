import { test } from "vitest";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { ServeCluster } from "../support/serve-cluster.js";
import type { ServeProcess } from "../support/serve-process.js";
import { ServerEvents } from "../support/server-events.js";

const patience = { timeout: 90_000 };

async function leadersOf(node: ServeProcess): Promise<Readonly<Record<string, string>>> {
  return (await node.read<{ leaders: Record<string, string> }>("/cluster/info")).leaders;
}

async function submit(node: ServeProcess, jobId: string): Promise<void> {
  await node.post("/v1/jobs", { op: "nothing", job_id: jobId });
}

async function cursorNow(node: ServeProcess): Promise<string> {
  await using events = await ServerEvents.open(node.url);
  return (await events.next())?.id ?? "";
}

/** Another node leads this role when it resolves. */
async function handOver(cluster: ServeCluster, role: string): Promise<ServeProcess> {
  const [any] = cluster.nodes as [ServeProcess];
  const { [role]: before = "" } = await leadersOf(any);
  await any.post(`/cluster/leaders/${role}/step-down`, {});
  for (;;) {
    const { [role]: now = before } = await leadersOf(any);
    if (now !== before) return cluster.node(now);
  }
}

test.concurrent(
  "what is old goes at the start of a term, and whoever comes back with a cursor of then is told to begin anew",
  patience,
  async ({ expect }) => {
    await using database = await createTestDatabase();
    await using cluster = await ServeCluster.start(database.url, 2);
    const leader = await cluster.leader();
    await expect.poll(async () => Object.keys(await leadersOf(leader))).toContain("log_compactor");
    // It hangs up at once: for those who listen, a node keeps the last events in memory.
    const cursor = await cursorNow(leader);
    for (const id of ["old-1", "old-2"]) await submit(leader, id);
    await expect.poll(() => leader.read("/v1/jobs")).toMatchObject({ items: [{}, {}] });
    await fetch(`${leader.url}/v1/jobs/old-1`, { method: "DELETE" });
    await withClient(database.url, async (client) => {
      await client.query("update holdfast.events set at = at - interval '8 days'");
      await client.query(
        "update holdfast.jobs set created_at = created_at - interval '8 days', updated_at = updated_at - interval '8 days'",
      );
    });
    await submit(leader, "new");
    const compactor = await handOver(cluster, "log_compactor");
    const metrics = async () => await (await compactor.get("/metrics")).text();
    await expect.poll(metrics).toContain('holdfast_compacted_total{what="events"} 3');
    expect(await metrics()).toContain('holdfast_compacted_total{what="jobs"} 1');
    await expect.poll(() => compactor.output).toContain("compacted what was old");
    const jobs = await leader.read<{ items: { job_id: string }[] }>("/v1/jobs");
    expect(jobs.items.map(({ job_id }) => job_id)).toEqual(["new", "old-2"]);
    for (const node of cluster.nodes) {
      await using back = await ServerEvents.open(node.url, { lastEventId: cursor });
      const told = [await back.next(), await back.next()].map((event) => event?.event);
      expect(told).toContain("reset");
    }
    await submit(leader, "newer");
  },
);

test.concurrent(
  "what a node counted that was killed stays in the totals, whoever puts them together",
  patience,
  async ({ expect }) => {
    await using database = await createTestDatabase();
    await using cluster = await ServeCluster.start(database.url, 2);
    const [first, second] = cluster.nodes as [ServeProcess, ServeProcess];
    for (const id of ["one", "two", "three"]) await submit(first, id);
    await expect.poll(async () => Object.keys(await leadersOf(first))).toContain("metrics_aggregator");
    await handOver(cluster, "metrics_aggregator"); // Whoever gives a role up leaves a copy of its metrics.
    const copies = async () =>
      await withClient(database.url, async (client) => {
        const { rows } = await client.query<{ body: string }>(
          "select body from holdfast.snapshots where node_id = 'node-1'",
        );
        return rows[0]?.body ?? "";
      });
    await expect.poll(copies).toContain("holdfast_jobs_total 3");
    first.kill("SIGKILL");
    await cluster.leader([second]);
    await submit(second, "four");
    const text = async () => await (await second.get("/metrics/cluster")).text();
    const total = async () => Number(/^holdfast_cluster_jobs_total (\d+)$/m.exec(await text())?.[1] ?? 0);
    await expect.poll(total, { timeout: 45_000 }).toBeGreaterThanOrEqual(3);
    await expect.poll(total, { timeout: 45_000 }).toBe(4);
    expect(await text()).toMatch(/^holdfast_jobs_total\{node="node-2"\} 1$/m);
    expect(await text()).toMatch(/^holdfast_cluster_metrics_age_seconds \d/m);
  },
);
