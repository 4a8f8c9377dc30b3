import { beforeEach, describe, expect, it } from "vitest";
import type { HoldfastNode } from "../holdfast-node.js";
import { createJobs } from "../jobs/create-jobs.js";
import { createTestCluster, type MemoryTransaction, type TestCluster } from "../testing.js";

type Node = HoldfastNode<MemoryTransaction>;

let cluster: TestCluster;

beforeEach(() => {
  cluster = createTestCluster();
});

/** A node that has opened the jobs and leaves copies of its metrics, as one that serves does. */
async function start(nodeId: string): Promise<Node> {
  const node = await cluster.start({ cluster: { nodeId } });
  createJobs(node);
  node.countConnections(() => 0);
  await cluster.clock.advance(2_000);
  return node;
}

const totalOf = async (node: Node, name: string): Promise<number | null> => {
  const found = new RegExp(`^holdfast_cluster_${name} (\\S+)$`, "m").exec(await node.clusterMetrics());
  return found === null ? null : Number(found[1]);
};

const submitted = (node: Node): Promise<number | null> => totalOf(node, "jobs_total");

async function submit(node: Node, jobs: number): Promise<void> {
  const answers = node.jobs.submit(Array.from({ length: jobs }, () => ({ op: "add" })));
  await cluster.clock.advance(50);
  await answers;
}

async function takeOver(from: Node, to: Node): Promise<void> {
  for (const role of ["scheduler", "metrics_aggregator", "log_compactor"]) await cluster.gain(to, role);
  await from.close();
}

describe("a node that opens the jobs", () => {
  it("contends for both roles of the cluster's upkeep; one that does not, for none", async () => {
    await using without = await cluster.start();
    without.role("scheduler");
    await cluster.clock.advance(2_000);
    expect(Object.keys((await without.cluster.info()).leaders)).toEqual(["scheduler"]);
    await using node = await start("a");
    const { leaders } = await node.cluster.info();
    expect(leaders).toMatchObject({ log_compactor: "a", metrics_aggregator: "a" });
  });
});

describe("the totals of the cluster", () => {
  it("are put together every 15 s, as series of their own beside those of the nodes", async () => {
    await using a = await start("a");
    await submit(a, 3);
    await cluster.clock.advance(30_000);
    const text = await a.clusterMetrics();
    expect(text).toContain('holdfast_jobs_total{node="a"} 3');
    expect(text).toContain("# TYPE holdfast_cluster_jobs_total counter\nholdfast_cluster_jobs_total 3\n");
    expect(text).toMatch(/^holdfast_cluster_leader_acquired_total\{role="scheduler"\} 1$/m);
    expect(text).toMatch(/^holdfast_cluster_leader_failover_seconds_bucket\{le="\+Inf",role="scheduler"\} \d+$/m);
    expect(text).not.toContain("holdfast_cluster_leader_epoch");
    expect(await totalOf(a, "metrics_age_seconds")).toBeLessThanOrEqual(15);
    expect(text.endsWith("\n")).toBe(true);
    expect(text).not.toContain("\n\n\n");
  });

  it("count what a node has counted that is gone, and one that comes back under its name", async () => {
    await using a = await start("a");
    await submit(a, 3);
    await cluster.clock.advance(30_000);
    await using b = await start("b");
    await takeOver(a, b);
    await submit(b, 2);
    await cluster.clock.advance(30_000);
    expect(await submitted(b)).toBe(5);
    expect(await b.clusterMetrics()).not.toContain('node="a"');
    await using again = await start("a");
    await takeOver(b, again);
    await submit(again, 1);
    await cluster.clock.advance(30_000);
    expect(await submitted(again)).toBe(6);
  });

  it("take in what was counted last before a clean stop", async () => {
    await using a = await start("a");
    await using b = await start("b");
    await cluster.clock.advance(20_000);
    await cluster.gain(b, "metrics_aggregator");
    await submit(a, 4);
    await a.close(); // Giving its roles up leaves a copy, not 15 s later.
    await cluster.clock.advance(16_000);
    expect(await submitted(b)).toBe(4);
  });
});
