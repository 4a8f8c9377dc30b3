import { describe, expect, it } from "vitest";
import { createTestCluster, type TestCluster } from "../../testing.js";
import type { OperationContext } from "../agent/operation.js";
import { createJobs } from "../create-jobs.js";
import type { Employment } from "./worker.js";

type Node = Awaited<ReturnType<TestCluster["start"]>>;

/** Time that passes in steps, as long as something is not true yet. */
async function until(cluster: TestCluster, isTrue: () => boolean | Promise<boolean>, withinMs = 20_000): Promise<void> {
  for (let passed = 0; !(await isTrue()); passed += 50) {
    if (passed > withinMs) throw new Error(`It did not come true: ${String(isTrue)}`);
    await cluster.clock.advance(50);
  }
}

/** An operation whose runs the test ends. */
function gated() {
  const begun: { readonly node: string; readonly context: OperationContext; readonly end: () => void }[] = [];
  const on =
    (node: string) =>
    async (_payload: unknown, context: OperationContext): Promise<string> => {
      await new Promise<void>((resolve, reject) => {
        begun.push({ node, context, end: resolve });
        context.signal.addEventListener("abort", () => reject(context.signal.reason as Error), { once: true });
      });
      return node;
    };
  return { begun, on };
}

async function startNode(
  cluster: TestCluster,
  nodeId: string,
  employment: Employment,
  options: Parameters<TestCluster["start"]>[0] = {},
): Promise<Node> {
  const node = await cluster.start({ ...options, cluster: { nodeId, ...options.cluster } });
  createJobs(node, employment);
  await cluster.clock.advance(0);
  return node;
}

/** Three nodes that have the same operation; the first of them leads. */
async function startThree(options: Parameters<TestCluster["start"]>[0] = {}, concurrency = 4) {
  const cluster = createTestCluster();
  const gate = gated();
  const nodes: Node[] = [];
  for (const id of ["a", "b", "c"]) {
    nodes.push(await startNode(cluster, id, { operations: { wait: gate.on(id) }, concurrency }, options));
    if (id === "a") await until(cluster, () => nodes[0]?.jobs.isOpen === true);
  }
  const [a, b, c] = nodes as [Node, Node, Node];
  await until(cluster, () => a.jobs.waitingAgents === 2);
  return { cluster, a, b, c, ...gate };
}

/** From the one to the other, who leads when this resolves. */
async function handOver(cluster: TestCluster, from: Node, to: Node): Promise<void> {
  void from.role("scheduler").stepDown({ to: to.id });
  await until(cluster, () => to.jobs.isOpen);
}

const submit = async (node: Node, number: number, op = "wait"): Promise<readonly string[]> => {
  const jobs = Array.from({ length: number }, () => ({ op }));
  return (await node.jobs.submit(jobs)).map(({ jobId }) => jobId);
};

describe("workers of the cluster", () => {
  it("share the jobs by their load, and the leader takes none", async () => {
    const { cluster, a, begun } = await startThree();
    await submit(a, 4);
    await until(cluster, () => begun.length === 4);
    expect(begun.map(({ node }) => node).toSorted()).toEqual(["b", "b", "c", "c"]);
  });

  it("report results through the database, and the job says who did it", async () => {
    const { cluster, a, c, begun } = await startThree();
    const [id = ""] = await submit(a, 1);
    await until(cluster, () => begun.length === 1);
    begun[0]?.end();
    await until(cluster, async () => (await c.jobs.book.job(id))?.state === "succeeded");
    const job = await c.jobs.book.job(id);
    expect(job).toMatchObject({ result: begun[0]?.node, agent: `node:${begun[0]?.node}`, attempts: 1, jobEpoch: 1 });
  });

  it("tell how far they are", async () => {
    const { cluster, a, begun } = await startThree();
    const [id = ""] = await submit(a, 1);
    await until(cluster, () => begun.length === 1);
    begun[0]?.context.progress({ percent: 40 });
    await until(cluster, async () => (await a.jobs.book.job(id))?.progress !== null);
    expect((await a.jobs.book.job(id))?.progress).toEqual({ percent: 40 });
  });

  it("include a leader that is the only active node, until another one joins", async () => {
    const cluster = createTestCluster();
    const { begun, on } = gated();
    const a = await startNode(cluster, "a", { operations: { wait: on("a") } }, { jobs: { drainGraceSeconds: 1 } });
    await until(cluster, () => a.jobs.waitingAgents === 1);
    const [id = ""] = await submit(a, 1);
    await until(cluster, () => begun.length === 1);
    await startNode(cluster, "b", { operations: { wait: on("b") } });
    await until(cluster, () => begun.length === 2);
    expect(begun.map(({ node, context }) => [node, context.attempt])).toEqual([
      ["a", 1],
      ["b", 1],
    ]);
    expect(begun[0]?.context.signal.aborted).toBe(true);
    begun[1]?.end();
    await until(cluster, async () => (await a.jobs.book.job(id))?.state === "succeeded");
    expect(await a.jobs.book.job(id)).toMatchObject({ attempts: 1, jobEpoch: 2, agent: "node:b" });
  });

  it("include a leader that is told to work", async () => {
    const cluster = createTestCluster();
    const { begun, on } = gated();
    const options = { jobs: { leaderWorks: true } };
    const a = await startNode(cluster, "a", { operations: { wait: on("a") } }, options);
    await until(cluster, () => a.jobs.isOpen);
    await startNode(cluster, "b", { operations: { wait: on("b") } }, options);
    await until(cluster, () => a.jobs.waitingAgents === 2);
    await submit(a, 2);
    await until(cluster, () => begun.length === 2);
    expect(begun.map(({ node }) => node).toSorted()).toEqual(["a", "b"]);
  });

  it("go on under the next leader, whose own work ends in its time or goes back without an attempt", async () => {
    const { cluster, a, b, begun } = await startThree({ jobs: { drainGraceSeconds: 2 } }, 1);
    const ids = await submit(a, 2);
    await until(cluster, () => begun.length === 2);
    const ofB = begun.find(({ node }) => node === "b");
    const ofC = begun.find(({ node }) => node === "c");
    await handOver(cluster, a, b);
    // What b had does not end: it goes to a, which leads no more.
    await until(cluster, () => begun.length === 3);
    expect(begun[2]?.node).toBe("a");
    expect(ofB?.context.signal.aborted).toBe(true);
    expect(ofC?.context.signal.aborted).toBe(false);
    ofC?.end();
    begun[2]?.end();
    await until(cluster, async () => (await b.jobs.book.standing()).counts.succeeded === 2);
    const jobs = await Promise.all(ids.map(async (id) => await b.jobs.book.job(id)));
    expect(jobs.map((job) => job?.attempts)).toEqual([1, 1]);
    expect(new Set(jobs.map((job) => job?.jobEpoch))).toEqual(new Set([1, 2]));
  });

  it("let what runs end when their node becomes the leader", async () => {
    const { cluster, a, b, begun } = await startThree({ jobs: { drainGraceSeconds: 5 } }, 1);
    const ids = await submit(a, 2);
    await until(cluster, () => begun.length === 2);
    await handOver(cluster, a, b);
    for (const { end } of begun) end();
    await until(cluster, async () => (await b.jobs.book.standing()).counts.succeeded === 2);
    const jobs = await Promise.all(ids.map(async (id) => await b.jobs.book.job(id)));
    expect(jobs.map((job) => [job?.attempts, job?.jobEpoch])).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });

  it("give back what they have when their node stops, without an attempt", async () => {
    const { cluster, a, b, begun } = await startThree({ shutdown: { drainTimeoutSeconds: 3 } }, 1);
    await submit(a, 2);
    await until(cluster, () => begun.length === 2);
    let isClosed = false;
    void b.close().then(() => {
      isClosed = true;
    });
    begun.find(({ node }) => node === "c")?.end();
    await until(cluster, () => isClosed && begun.length === 3);
    expect(begun[2]).toMatchObject({ node: "c", context: { attempt: 1 } });
  });

  it("take nothing while their node drains, and again when it is resumed", async () => {
    const { cluster, a, b, begun } = await startThree();
    void b.drain();
    await until(cluster, () => a.jobs.waitingAgents === 1);
    await submit(a, 2);
    await until(cluster, () => begun.length === 2);
    expect(begun.map(({ node }) => node)).toEqual(["c", "c"]);
    b.resume();
    await until(cluster, () => a.jobs.waitingAgents === 2);
    await submit(a, 1);
    await until(cluster, () => begun.length === 3);
    expect(begun[2]?.node).toBe("b");
  });

  it("that were deleted get nothing more until their process is another", async () => {
    const { cluster, a, begun } = await startThree();
    await a.jobs.removeAgent("node:b");
    await submit(a, 2);
    await until(cluster, () => begun.length === 2);
    expect(begun.map(({ node }) => node)).toEqual(["c", "c"]);
  });

  it("do nothing where their node lacks the role, or they have nothing to do", async () => {
    const cluster = createTestCluster();
    const roles = ["gateway", "scheduler"] as const;
    const a = await startNode(cluster, "a", { operations: { wait: () => 1 } }, { cluster: { roles } });
    await startNode(cluster, "b", {});
    await until(cluster, () => a.jobs.isOpen);
    await cluster.clock.advance(5_000);
    expect(a.jobs.waitingAgents).toBe(0);
    expect(await a.jobs.book.agents()).toEqual([]);
  });
});
