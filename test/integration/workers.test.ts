import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { createTestDatabase, makeTestDirectory, startTestServer } from "../support/postgres.js";
import { ServeCluster } from "../support/serve-cluster.js";
import { quickCluster, ServeProcess, type ServeSettings } from "../support/serve-process.js";

const patienceMs = 60_000;

interface SeenJob {
  readonly job_id: string;
  readonly state: string;
  readonly agent: string | null;
  readonly attempts: number;
  readonly job_epoch: number;
  readonly result: unknown;
}

/** `hold` ends when a file of the name in its payload is there, `double` at once. */
async function operations(): Promise<{ readonly ops: string; readonly release: (name: string) => Promise<void> }> {
  const ops = await makeTestDirectory();
  const marks = await makeTestDirectory();
  const hold = `
    import { existsSync } from "node:fs";
    import { setTimeout as pause } from "node:timers/promises";
    export default async ({ until }, { signal }) => {
      while (!existsSync(${JSON.stringify(marks)} + "/" + until)) await pause(20, undefined, { signal });
      return "held";
    };`;
  await writeFile(join(ops, "double.mjs"), "export default ({ n }) => 2 * n;");
  await writeFile(join(ops, "hold.mjs"), hold);
  return { ops, release: async (name) => await writeFile(join(marks, name), "") };
}

async function submit(leader: ServeProcess, op: string, payload: object): Promise<string> {
  const { job_id: id } = await leader.post<SeenJob>("/v1/jobs", { op, payload });
  return id;
}

const seen = async (node: ServeProcess, id: string): Promise<SeenJob> => await node.read<SeenJob>(`/v1/jobs/${id}`);

async function until(isTrue: () => Promise<boolean> | boolean, what: string, nodes: readonly ServeProcess[]) {
  if (await waitUntil(isTrue, patienceMs)) return;
  throw new Error(`${what}\n${nodes.map(({ output }) => output).join("\n")}`);
}

/** Three nodes with the same operations; node-1 leads, and the others wait for work when this resolves. */
async function startThree(databaseUrl: string, ops: string, settings: ServeSettings = {}): Promise<ServeCluster> {
  const all = { "jobs.drain_grace_seconds": 1, ...settings };
  const cluster = await ServeCluster.start(databaseUrl, 3, all, ["--ops", ops]);
  const leader = cluster.node("node-1");
  const areHere = async (): Promise<boolean> => {
    const { items } = await leader.read<{ readonly items: readonly { readonly agent: string }[] }>("/v1/agents");
    const names = items.map(({ agent }) => agent);
    return names.includes("node:node-2") && names.includes("node:node-3");
  };
  await until(areHere, "The workers did not register.", cluster.nodes);
  return cluster;
}

describe("workers in real processes", () => {
  it("share the jobs; those of one that is killed go to others soon after the node timeout, and it cost no attempt", {
    timeout: 180_000,
  }, async () => {
    await using database = await createTestDatabase();
    const { ops, release } = await operations();
    await using cluster = await startThree(database.url, ops);
    const leader = cluster.node("node-1");
    const look = async (ids: readonly string[]) => await Promise.all(ids.map(async (id) => await seen(leader, id)));
    const all = async (ids: readonly string[], state: string): Promise<boolean> =>
      (await look(ids)).every((job) => job.state === state);

    const short = await Promise.all([1, 2, 3, 4, 5].map(async (n) => await submit(leader, "double", { n })));
    await until(async () => await all(short, "succeeded"), "The short jobs were not done.", cluster.nodes);
    expect((await look(short)).map(({ result }) => result)).toEqual([2, 4, 6, 8, 10]);

    // As many as the two have places for.
    const held: string[] = [];
    for (let n = 0; n < 8; n += 1) held.push(await submit(leader, "hold", { until: "go" }));
    await until(async () => await all(held, "leased"), "The jobs were not handed out.", cluster.nodes);
    const before = await look(held);
    expect(before.filter(({ agent }) => agent === "node:node-2")).toHaveLength(4);
    expect(before.filter(({ agent }) => agent === "node:node-3")).toHaveLength(4);

    const killedAt = performance.now();
    cluster.node("node-2").kill("SIGKILL");
    const wasHers = new Set(before.filter(({ agent }) => agent === "node:node-2").map(({ job_id: id }) => id));
    const areFree = async (): Promise<boolean> =>
      (await look([...wasHers])).every(({ state, attempts }) => state === "queued" && attempts === 0);
    await until(areFree, "The dead worker keeps its jobs.", [leader, cluster.node("node-3")]);
    // Far below the 60 s of a lease.
    expect(performance.now() - killedAt).toBeLessThan(20_000);
    await release("go");
    await until(async () => await all(held, "succeeded"), "The jobs did not end.", [leader, cluster.node("node-3")]);
    for (const job of await look(held)) {
      const epoch = wasHers.has(job.job_id) ? 2 : 1;
      expect(job).toMatchObject({ attempts: 1, job_epoch: epoch, agent: "node:node-3", result: "held" });
    }
    expect(leader.output).toContain("a worker lives no more: its jobs go to others");
  });

  it("go on under another leader; what its own worker had goes back without an attempt, and the old leader works", {
    timeout: 180_000,
  }, async () => {
    await using database = await createTestDatabase();
    const { ops, release } = await operations();
    await using cluster = await startThree(database.url, ops);
    const leader = cluster.node("node-1");
    const countOf = async (agent: string): Promise<number> =>
      (await look()).filter((job) => job.agent === agent).length;
    // As many as the two have places for.
    const ids: string[] = [];
    for (let n = 0; n < 8; n += 1) ids.push(await submit(leader, "hold", { until: "go" }));
    const look = async () => await Promise.all(ids.map(async (id) => await seen(cluster.node("node-3"), id)));
    await until(
      async () => (await look()).every(({ state }) => state === "leased"),
      "The jobs were not handed out.",
      cluster.nodes,
    );
    expect(await countOf("node:node-2")).toBe(4);
    await leader.post("/cluster/leaders/scheduler/step-down", { to: "node-2" });
    await cluster.agree("node-2");
    const moved = async (): Promise<boolean> =>
      (await look()).every(({ state, agent }) => state === "leased" && agent !== "node:node-2");
    await until(moved, "The new leader did not give its jobs away.", cluster.nodes);
    await release("go");
    await until(
      async () => (await look()).every(({ state }) => state === "succeeded"),
      "The jobs did not end.",
      cluster.nodes,
    );
    expect(await countOf("node:node-1")).toBe(4);
    expect(new Set((await look()).map(({ attempts }) => attempts))).toEqual(new Set([1]));
    const next = await submit(cluster.node("node-2"), "double", { n: 21 });
    await until(
      async () => (await seen(cluster.node("node-2"), next)).state === "succeeded",
      "Nobody works for the new leader.",
      cluster.nodes,
    );
    expect(["node:node-1", "node:node-3"]).toContain((await seen(cluster.node("node-2"), next)).agent);
  });

  it("go on when their leader is killed: what they have reaches the next one under the epoch it was leased with", {
    timeout: 180_000,
  }, async () => {
    await using database = await createTestDatabase();
    const { ops, release } = await operations();
    await using cluster = await startThree(database.url, ops);
    const others = [cluster.node("node-2"), cluster.node("node-3")];
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) ids.push(await submit(cluster.node("node-1"), "hold", { until: "go" }));
    const look = async () => await Promise.all(ids.map(async (id) => await seen(cluster.node("node-3"), id)));
    await until(
      async () => (await look()).every(({ state }) => state === "leased"),
      "The jobs were not handed out.",
      cluster.nodes,
    );
    cluster.node("node-1").kill("SIGKILL");
    const next = await cluster.leader(others);
    await release("go");
    await until(
      async () => (await look()).every(({ state }) => state === "succeeded"),
      "The jobs did not end under the next leader.",
      others,
    );
    expect((await look()).map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1]);
    const again = await submit(next, "double", { n: 4 });
    await until(async () => (await seen(next, again)).state === "succeeded", "Nobody works any more.", others);
  });

  it("keep what they have while the database is away for longer than the node timeout: nobody could be heard", {
    timeout: 180_000,
  }, async () => {
    await using server = await startTestServer();
    const { ops, release } = await operations();
    await using cluster = await startThree(server.url, ops, { "cluster.node_timeout_seconds": 4 });
    const ids: string[] = [];
    for (let n = 0; n < 6; n += 1) ids.push(await submit(cluster.node("node-1"), "hold", { until: "go" }));
    const look = async () => await Promise.all(ids.map(async (id) => await seen(cluster.node("node-3"), id)));
    const are = async (state: string): Promise<boolean> => (await look()).every((job) => job.state === state);
    await until(async () => await are("leased"), "The jobs were not handed out.", cluster.nodes);
    const before = await look();
    const stoppedAt = performance.now();
    await server.stop("fast");
    await waitUntil(() => performance.now() - stoppedAt > 5_000, patienceMs);
    await server.start();
    const leader = await cluster.leader(cluster.nodes);
    const { node_id: leaderId } = await leader.read<{ readonly node_id: string }>("/role");
    await release("go");
    await until(async () => await are("succeeded"), "The jobs did not end.", cluster.nodes);
    // What the new leader had goes to others by its own rule.
    const kept = before.filter(({ agent }) => agent !== `node:${leaderId}`);
    expect(kept.length).toBeGreaterThanOrEqual(2);
    const after = new Map((await look()).map((job) => [job.job_id, job]));
    for (const { job_id: id, agent } of kept) expect(after.get(id)).toMatchObject({ agent, job_epoch: 1, attempts: 1 });
  });

  it("are one where a node is alone: it leads, and works by itself", { timeout: 120_000 }, async () => {
    await using database = await createTestDatabase();
    const { ops } = await operations();
    const settings = { ...quickCluster, "store.url": database.url, "cluster.node_id": "alone" };
    await using node = await ServeProcess.start({ settings, args: ["--ops", ops] });
    const leads = async (): Promise<boolean> => (await node.read<{ readonly role: string }>("/role")).role === "LEADER";
    await until(leads, "It does not lead.", [node]);
    const id = await submit(node, "double", { n: 21 });
    await until(async () => (await seen(node, id)).state === "succeeded", "It does not work.", [node]);
    expect(await seen(node, id)).toMatchObject({ agent: "node:alone", result: 42, attempts: 1 });
  });
});
