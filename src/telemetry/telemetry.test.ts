import { readFileSync } from "node:fs";
import { Writable } from "node:stream";
import { pino } from "pino";
import { Counter, Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { resolveConfig } from "../config/config.js";
import { epochOf, parseRole } from "../election/core/names.js";
import type { LeaderTerm } from "../election/term.js";
import { HoldfastError } from "../errors.js";
import { HoldfastNode } from "../holdfast-node.js";
import { createJobs } from "../jobs/create-jobs.js";
import { reportOf } from "../membership/node-report.js";
import { createQueue } from "../queue/queue.js";
import { MemoryCluster } from "../store/memory/cluster.js";
import { MemoryDatabase } from "../store/memory/database.js";
import { MemoryStore, type MemoryTransaction } from "../store/memory/store.js";
import { TestClock } from "../testing.js";
import { version } from "../version.js";

/** A node whose log and metrics the test reads. */
async function startNode(registry = new Registry()) {
  const clock = new TestClock();
  const lines: Record<string, unknown>[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
      done();
    },
  });
  const database = new MemoryDatabase({ now: () => clock.wall() });
  const shared = new MemoryCluster(database, (ms, fire) => clock.wakeAt(clock.mono() + ms, fire));
  const config = resolveConfig({ cluster: { nodeId: "a" }, metrics: { prefix: "app_" } }, true);
  const node = await HoldfastNode.start({
    config,
    report: reportOf(config),
    store: new MemoryStore(shared, config.timing.nodeTimeoutMs),
    clock,
    random: () => 0.5,
    log: pino(stream),
    registry,
    afterClose: () => Promise.resolve(),
  });
  const value = async (name: string, labels: Record<string, string> = {}): Promise<number | undefined> => {
    const metric = await registry.getSingleMetric(name)?.get();
    const matches = (given: object): boolean =>
      Object.entries(labels).every(([key, wanted]) => (given as Record<string, unknown>)[key] === wanted);
    return metric?.values.find((one) => matches(one.labels))?.value;
  };
  return { node, clock, lines, registry, value, database };
}

const role = "scheduler";

describe("metrics", () => {
  it("of a known role exist at 0 from the start, in the user's registry and with the prefix asked for", async () => {
    const { node, value, registry } = await startNode();
    await using _closing = node;
    node.role(role);
    for (const name of ["elections", "acquired", "failovers"])
      expect(await value(`app_leader_${name}_total`, { role })).toBe(0);
    for (const name of ["gate_blocked_total", "fence_rejected_total", "cluster_leaderless_seconds_total"]) {
      expect(await value(`app_${name}`, { role })).toBe(0);
    }
    for (const name of ["is_leader", "epoch", "tenure_seconds", "trust_remaining_seconds", "heartbeat_age_seconds"]) {
      expect(await value(`app_leader_${name}`, { role })).toBeDefined();
    }
    expect(await value("app_leader_lost_total", { role, reason: "trust_ran_out" })).toBe(0);
    const text = await registry.metrics();
    for (const name of ["acquire", "heartbeat", "failover"])
      expect(text).toContain(`app_leader_${name}_seconds_count{role="scheduler"} `);
  });

  it("follow an election, a refusal of the gate and a step-down", async () => {
    const { node, clock, value } = await startNode();
    await using _closing = node;
    const handle = node.role(role);
    await clock.advance(0);
    expect(() => handle.gate.ensureEpoch(99n)).toThrow("does not lead");
    await clock.advance(1_500);
    expect(await value("app_leader_is_leader", { role })).toBe(1);
    expect(await value("app_leader_epoch", { role })).toBe(1);
    expect(await value("app_leader_tenure_seconds", { role })).toBeCloseTo(1.5, 1);
    expect(await value("app_leader_trust_remaining_seconds", { role })).toBeGreaterThan(1);
    expect(await value("app_gate_blocked_total", { role })).toBe(1);
    const stepped = handle.stepDown();
    await clock.advance(0);
    await stepped;
    expect(await value("app_leader_is_leader", { role })).toBe(0);
    expect(await value("app_leader_lost_total", { role, reason: "stepped_down" })).toBe(1);
  });
});

describe("a write that the fence refuses", () => {
  type Opened = Awaited<ReturnType<typeof startNode>>["node"];
  const writes: [string, (node: Opened) => () => Promise<unknown>][] = [
    [
      "a transaction of one's own",
      (node) => {
        const terms: LeaderTerm<MemoryTransaction>[] = [];
        node.role(role).lead((term) => {
          terms.push(term);
        });
        return async () => await terms[0]?.transaction(async () => await Promise.resolve());
      },
    ],
    [
      "a job",
      (node) => {
        const jobs = createJobs(node);
        return async () => await jobs.submit([{ op: "add" }]);
      },
    ],
    [
      "a cron",
      (node) => {
        const crons = node.crons.define({ name: "nightly", schedule: "0 2 * * *", op: "report" });
        return async () => await crons.trigger("nightly");
      },
    ],
    [
      "a queue",
      (node) => {
        const queue = createQueue(node, { name: "orders", role });
        return async () => await queue.enqueue({ lane: "l", body: Buffer.from("x") });
      },
    ],
  ];

  it.each(writes)("is counted: %s", async (_what, prepare) => {
    const { node, clock, value, database, lines } = await startNode();
    await using _closing = node;
    const write = prepare(node);
    await clock.advance(1_500);
    expect(await value("app_fence_rejected_total", { role })).toBe(0);
    database.advanceEpoch(parseRole(role), epochOf(0));
    const outcome = write().catch((error: unknown) => error);
    await clock.advance(10);
    expect(await value("app_fence_rejected_total", { role })).toBe(1);
    expect(lines).toContainEqual(expect.objectContaining({ role, node_id: "a", reason: "stale_epoch" }));
    await clock.advance(5_000);
    expect(await outcome).toBeInstanceOf(HoldfastError);
  });
});

describe("a registry of the user's own", () => {
  it("is left as it was when the node has been closed, and can serve the next one", async () => {
    const registry = new Registry();
    const own = new Counter({ name: "own_total", help: "Not ours.", registers: [registry] });
    for (let start = 0; start < 2; start += 1) {
      const { node } = await startNode(registry);
      expect(registry.getMetricsAsArray().length).toBeGreaterThan(1);
      await node.close();
    }
    expect(registry.getMetricsAsArray()).toEqual([own]);
  });
});

describe("the log", () => {
  it("says of every transition which role, epoch and node, and why", async () => {
    const { node, clock, lines } = await startNode();
    node.role(role);
    await clock.advance(0);
    await node.close();
    const transitions = lines.filter((line) => line.epoch !== undefined);
    expect(transitions).toMatchObject([
      { msg: "elected", role, epoch: 1, node_id: "a", reason: "first" },
      { msg: "gave the role up", role, epoch: 1, node_id: "a", reason: "draining" },
    ]);
  });

  it("says that the work of a leader failed, and that the role was lost for it", async () => {
    const { node, clock, lines } = await startNode();
    await using _closing = node;
    node.role(role).lead(() => Promise.reject(new Error("no disk")));
    await clock.advance(100);
    expect(lines).toContainEqual(
      expect.objectContaining({
        msg: "the work of the leader failed",
        reason: "work_failed",
        err: expect.objectContaining({ message: "no disk" }),
      }),
    );
    expect(lines).toContainEqual(expect.objectContaining({ msg: "lost the role", reason: "work_failed" }));
  });
});

describe("the version", () => {
  it("is that of the package", () => {
    const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
      version: string;
    };
    expect(version).toBe(manifest.version);
  });
});
