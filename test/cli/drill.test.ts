import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../support/command.js";
import { heirOf } from "../support/election.js";
import { createTestDatabase, type TestDatabase } from "../support/postgres.js";
import { ServeCluster } from "../support/serve-cluster.js";
import { programPath } from "../support/serve-process.js";

interface Report {
  readonly kind: string;
  readonly role: string;
  readonly old_leader: string;
  readonly new_leader: string;
  readonly old_epoch: number;
  readonly new_epoch: number;
  readonly events: readonly { readonly at_ms: number; readonly what: string }[];
  readonly database_gap_ms: number | null;
  readonly took_ms: number;
}

const leaseTtlMs = 2_000;

describe("a drill on three serving nodes", () => {
  let database: TestDatabase;
  let cluster: ServeCluster;

  beforeAll(async () => {
    database = await createTestDatabase();
    cluster = await ServeCluster.start(database.url, 3);
  });

  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await database?.drop();
  });

  const drill = async (kind: string, url: string): Promise<Report> => {
    const { code, stdout, stderr } = await runCommand([
      "drill",
      kind,
      "--role",
      "scheduler",
      "--yes",
      "--json",
      "--url",
      url,
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return JSON.parse(stdout) as Report;
  };

  it("clean: hands over, and says in how many milliseconds", async () => {
    const report = await drill("clean", cluster.node("node-1").url);
    expect(report).toMatchObject({ kind: "clean", role: "scheduler", old_leader: "node-1" });
    expect(report.new_epoch).toBeGreaterThan(report.old_epoch);
    expect(report.new_leader).not.toBe("node-1");
    expect(report.took_ms).toBeGreaterThan(0);
    expect(report.took_ms).toBeLessThan(leaseTtlMs);
    expect(report.events[0]).toEqual({ at_ms: 0, what: "node-1 is asked to step down, which led under epoch 1" });
    await cluster.agree(report.new_leader);
  });

  it("stall: freezes the leader, waits the lease out, and shows that the old leader is fenced", async () => {
    const report = await drill("stall", cluster.node("node-1").url);
    expect(report.took_ms).toBeGreaterThan(500);
    expect(report.new_leader).not.toBe(report.old_leader);
    const said = report.events.map(({ what }) => what);
    expect(said[0]).toMatch(/^SIGSTOP to node-\d \(pid \d+\), which led under epoch 2$/);
    expect(said.at(-3)).toMatch(/^SIGCONT to node-\d/);
    expect(said.at(-2)).toBe(`${report.old_leader} answers as standby: its gate is shut`);
    expect(said.at(-1)).toBe(`${report.old_leader} knows of epoch ${report.new_epoch}: it is fenced`);
    // It runs again, and answers.
    expect((await cluster.node(report.old_leader).get("/health")).status).toBe(200);
    await cluster.agree(report.new_leader);
  });

  it("crash: kills the leader, and a standby takes over by evidence", async () => {
    await heirOf(database.url, "scheduler", { fresh: true });
    // Asked through a standby, and through the leader itself, of which nothing is left then.
    const { items } = await cluster
      .node("node-1")
      .read<{ readonly items: readonly { readonly leader_url: string }[] }>("/cluster/leaders");
    const report = await drill("crash", items[0]?.leader_url ?? "");
    const { signal } = await cluster.node(report.old_leader).exited;
    expect(signal).toBe("SIGKILL");
    expect(report.took_ms).toBeLessThan(leaseTtlMs);
    expect(report.events.map(({ what }) => what)).toContainEqual(
      expect.stringMatching(new RegExp(`^${report.new_leader} answers as leader, epoch ${report.new_epoch} \\(.+\\)$`)),
    );
    expect(report.database_gap_ms).not.toBeNull();
    await cluster.agree(
      report.new_leader,
      cluster.nodes.filter((node) => node !== cluster.node(report.old_leader)),
    );
  });
});

describe("a drill that comes to nothing", () => {
  let database: TestDatabase;
  let cluster: ServeCluster;

  beforeAll(async () => {
    database = await createTestDatabase();
    // Nobody takes over from a frozen leader before this lease has run out.
    const patient = {
      "cluster.heartbeat_seconds": 1,
      "cluster.leader_fence_timeout_seconds": 50,
      "cluster.leader_lease_ttl_seconds": 60,
      "cluster.node_timeout_seconds": 60,
    };
    cluster = await ServeCluster.start(database.url, 2, patient);
  });

  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await database?.drop();
  });

  const stall = (...more: readonly string[]): readonly string[] =>
    ["drill", "stall", "--role", "scheduler", "--yes", "--url", cluster.node("node-2").url].concat(more);

  const leads = async (): Promise<void> => {
    expect(await cluster.node("node-1").read("/role")).toMatchObject({ role: "LEADER", leader_epoch: 1 });
  };

  it("wakes the frozen leader when its time is up, and exits with 1", async () => {
    const { code, stdout, stderr } = await runCommand(stall("--timeout", "1s"));
    expect(code).toBe(1);
    expect(stdout).toMatch(/^ +0\.0 ms {2}SIGSTOP to node-1 /);
    expect(stderr).toContain('The takeover of "scheduler" was not over within 1 s');
    await leads();
  });

  it.each(["SIGINT", "SIGTERM"] as const)("wakes the frozen leader when it is interrupted by %s", async (signal) => {
    const child = spawn(process.execPath, [programPath, ...stall()], { stdio: ["ignore", "pipe", "pipe"] });
    const said = new Promise<string>((resolve) => child.stdout.setEncoding("utf8").once("data", resolve));
    expect(await said).toContain("SIGSTOP to node-1");
    child.kill(signal);
    const [[code], stderr] = await Promise.all([once(child, "exit"), text(child.stderr)]);
    expect(code).toBe(1);
    expect(stderr).toContain(`The drill was interrupted (${signal}).`);
    await leads();
  });
});
