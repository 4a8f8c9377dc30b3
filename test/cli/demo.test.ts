import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { TransitionAnswer } from "../../src/server/cluster-answers.js";
import type { ListAnswer } from "../../src/server/page.js";
import { runHere } from "../support/command.js";
import { clearAway, DemoProcess, processesIn } from "../support/demo-process.js";
import { freePort } from "../support/free-ports.js";
import { createTestDatabase, makeTestDirectory } from "../support/postgres.js";

const patienceMs = 120_000;
const onLinux = process.platform === "linux";

/** A directory for demos, with whoever would still work in it cleared away in the end. */
async function demoDirectory(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await makeTestDirectory();
  return { path, [Symbol.asyncDispose]: () => clearAway(path) };
}

/** What the database recorded of the last election. */
async function lastElection(demo: DemoProcess, index: number): Promise<TransitionAnswer | undefined> {
  const { items } = await demo.read<ListAnswer<TransitionAnswer>>(index, "/cluster/history?role=scheduler");
  return items.find(({ event }) => event === "elected");
}

function indexOf(nodeId: string): number {
  return Number(nodeId.replace("node-", "")) - 1;
}

describe("holdfast demo", { timeout: patienceMs }, () => {
  it("runs three nodes, of which another leads when the leader is killed, and leaves nothing at Ctrl-C", async () => {
    // A user's own settings are for their own nodes.
    await using elsewhere = await demoDirectory();
    const settings = join(elsewhere.path, "holdfast.toml");
    writeFileSync(settings, "nonsense = true\n");
    await using demo = await DemoProcess.start({
      cwd: elsewhere.path,
      env: {
        HOLDFAST_SERVICE_CONFIG: settings,
        HOLDFAST_CLUSTER_NODE_ID: "mine",
        HOLDFAST_STORE_URL: "postgres://nobody@127.0.0.1:1/none",
        PGOPTIONS: "-c search_path=elsewhere",
      },
    });
    const before = await demo.cluster();
    expect(before.nodes.map(({ node_id, status }) => [node_id, status])).toEqual([
      ["node-1", "active"],
      ["node-2", "active"],
      ["node-3", "active"],
    ]);
    expect(before.nodes.map(({ http_port }) => http_port)).toEqual([demo.port, demo.port + 1, demo.port + 2]);
    const leader = before.nodes.find(({ is_leader }) => is_leader);
    expect(before.leader_node_id).toBe(leader?.node_id);
    const address = join(demo.dataDir, "database.url");
    expect(readFileSync(address, "utf8")).toMatch(/^postgres:\/\/\S+\n$/);
    expect(statSync(address).mode & 0o777).toBe(0o600);
    expect(demo.stdout).toBe(`ready: ${demo.url(0)} is the dashboard (3 nodes, ${leader?.node_id} leads)\n`);

    // The very moment that it calls itself ready an heir is there, who has seen the leader alive.
    process.kill(leader?.pid ?? 0, "SIGKILL");
    await demo.until(async () => (await demo.primaries()).some((id) => id !== leader?.node_id));
    const [heir = ""] = await demo.primaries();
    expect(await demo.read(indexOf(heir), "/cluster/nodes")).toMatchObject({ leader_node_id: heir });
    const election = await lastElection(demo, indexOf(heir));
    expect(election).toMatchObject({ node_id: heir, previous_node_id: leader?.node_id, reason: "evidence" });
    expect(election?.gap_seconds).toBeLessThan(1);
    // How long it took is told only where its end was heard before its successor.
    const told = new RegExp(
      `${leader?.node_id} gone: ${heir} leads( after [\\d.]+ m?s)?, epoch \\d+ \\(the database: [\\d.]+ m?s`,
    );
    await demo.until(() => told.test(demo.stderr));

    expect(await demo.remains()).toEqual(expect.arrayContaining(["owner.json", "data/postmaster.pid"]));
    demo.child.kill("SIGINT");
    expect(await demo.exited).toEqual({ code: 0, signal: null });
    expect(await demo.remains()).toEqual([]);
    expect(demo.stdout.split("\n")).toHaveLength(2);
  });

  // These three wait more than they work, and none of them measures anything: they run side by side.
  it.concurrent("goes on with the same database the next time, and begins anew with --fresh", async ({ expect }) => {
    await using directory = await demoDirectory();
    const epochs: number[] = [];
    for (const [args, signal] of [
      [[], "SIGTERM"],
      [[], "SIGHUP"],
      [["--fresh"], "SIGINT"],
    ] as const) {
      await using demo = await DemoProcess.start({ nodes: 1, dataDir: directory.path, args });
      epochs.push((await lastElection(demo, 0))?.epoch ?? 0);
      demo.child.kill(signal);
      expect(await demo.exited).toEqual({ code: 0, signal: null });
      expect(await demo.remains()).toEqual([]);
    }
    const [first = 0, second = 0, third = 0] = epochs;
    expect(second).toBeGreaterThan(first);
    expect(third).toBeLessThan(second);
  });

  it.concurrent("does not share its directory, and another demo beside it does not mind", async ({ expect }) => {
    await using first = await DemoProcess.start({ nodes: 1 });
    await using second = await DemoProcess.spawn({ nodes: 1, dataDir: first.dataDir });
    expect(await second.exited).toEqual({ code: 4, signal: null });
    expect(second.stderr).toContain(`is in use by process ${first.child.pid}`);
    expect(second.stderr).toContain("--data-dir");
    await using third = await DemoProcess.start({ nodes: 1 });
    expect(await Promise.all([first.primaries(), third.primaries()])).toEqual([["node-1"], ["node-1"]]);
  });

  it.runIf(onLinux).concurrent("takes its nodes with it when it is killed, a frozen one too", async ({ expect }) => {
    await using demo = await DemoProcess.start({ nodes: 2 });
    const { nodes } = await demo.cluster();
    process.kill(nodes[0]?.pid ?? 0, "SIGSTOP");
    demo.child.kill("SIGKILL");
    await demo.exited;
    // The server ends by itself too, but leaves its pid file for the next start to judge.
    const left = async (): Promise<readonly string[]> => (await demo.remains()).filter((what) => !what.includes("."));
    await expect.poll(left, { timeout: 30_000 }).toEqual([]);
    await using next = await DemoProcess.start({ nodes: 2, dataDir: demo.dataDir });
    await expect.poll(() => next.primaries(), { timeout: 30_000 }).toHaveLength(1);
  });

  it("ends in one line when its server dies, and says where the log is", async () => {
    await using demo = await DemoProcess.start({ nodes: 1 });
    const [pid] = readFileSync(join(demo.dataDir, "data/postmaster.pid"), "utf8").split("\n");
    process.kill(Number(pid), "SIGKILL");
    expect(await demo.exited).toEqual({ code: 4, signal: null });
    const log = join(demo.dataDir, "postgres.log");
    expect(existsSync(log)).toBe(true);
    expect(demo.stderr).toMatch(
      new RegExp(
        `\nholdfast: The embedded PostgreSQL on [^ ]+ ended by itself \\(SIGKILL\\)\\. Its log is ${log}\\. \\[`,
      ),
    );
  });

  it("says which port is taken and how to take another, before it starts anything", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as { port: number };
    try {
      await using demo = await DemoProcess.spawn({ port: port - 1 });
      expect(await demo.exited).toEqual({ code: 2, signal: null });
      expect(demo.stderr).toMatch(
        new RegExp(
          `^holdfast: Ports? (\\d+, )?${port}(, \\d+)? on 127\\.0\\.0\\.1 (is|are) taken [^\n]* --port \\d*\\.? ?\\[ADDRESS_IN_USE\\]\n$`,
        ),
      );
      expect(processesIn(demo.dataDir)).toEqual([]);
    } finally {
      other.close();
    }
  });

  it("runs on a server of one's own, and hands on why its nodes did not start", async () => {
    await using database = await createTestDatabase();
    await using demo = await DemoProcess.start({ nodes: 2, args: ["--database", database.url] });
    expect((await demo.cluster()).nodes).toHaveLength(2);
    const nowhere = database.url.replace(database.name, "no_such_database");
    await using failing = await DemoProcess.spawn({ nodes: 2, args: ["--database", nowhere] });
    expect(await failing.exited).toEqual({ code: 4, signal: null });
    expect(failing.stderr).toMatch(/^holdfast: node-\d did not start: .*no_such_database.* \[DATABASE_[A-Z]+\]$/m);
    expect(failing.stdout).toBe("");
    expect(await failing.remains()).toEqual([]);
  });

  it("points to a server of one's own where the embedded PostgreSQL does not run", async () => {
    const elsewhere = "data:text/javascript,Object.defineProperty(process,'arch',{value:'riscv64'})";
    await using demo = await DemoProcess.spawn({ env: { NODE_OPTIONS: `--import=${elsewhere}` } });
    expect(await demo.exited).toEqual({ code: 2, signal: null });
    expect(demo.stderr).toMatch(
      /no embedded PostgreSQL for \w+-riscv64.* --database postgres:.*\[EMBEDDED_UNSUPPORTED\]/,
    );
  });

  it.each([
    [["--nodes", "0"], /--nodes.*from 1 to 9/],
    [["--nodes", "10"], /--nodes.*from 1 to 9/],
    [["--port", "65536"], /--port.*from 1 to 65535/],
    [["--port", "65534"], /3 nodes from port 65534 on do not fit/],
    [["--nodes", "1", "--data-dir", "/dev/null"], /cannot keep its files in \/dev\/null .*--data-dir/],
    [["--database", "mysql://host/database"], /--database must be an address like postgres:/],
    [["--database", "postgres://host/database", "--fresh"], /--fresh throws only the embedded database away/],
  ])("refuses %j in one line", async (args, says) => {
    // The port is free, and is not what is refused.
    const port = ["--port", String(await freePort())];
    const { code, stdout, stderr } = await runHere(["demo", ...port, ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(stderr).toMatch(says);
  });
});
