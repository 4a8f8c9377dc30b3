import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { createTestDatabase, type TestDatabase, withClient } from "../support/postgres.js";
import { roleOf } from "../support/serve-cluster.js";
import { quickCluster, ServeProcess } from "../support/serve-process.js";
import { type LogLine, type SuperviseOptions, SuperviseProcess } from "../support/supervise-process.js";

const patience = { timeout: 90_000 };

const statusOf = async ({ url }: TestDatabase, nodeId: string): Promise<string | undefined> =>
  await withClient(url, async (client) => {
    const { rows } = await client.query("SELECT status FROM holdfast.nodes WHERE node_id = $1", [nodeId]);
    return (rows[0] as { readonly status: string } | undefined)?.status;
  });

const isUp = (pid: number, { processes }: SuperviseProcess): boolean => processes.includes(pid);

/** Whether it comes true, on a busy machine too. */
const comes = async (look: () => boolean): Promise<boolean> => await waitUntil(() => Promise.resolve(look()), 40_000);

const superviseIn = async (
  database: TestDatabase,
  nodeId: string,
  { settings = {}, ...rest }: Partial<SuperviseOptions> = {},
): Promise<SuperviseProcess> => {
  const own = { ...quickCluster, "store.url": database.url, "cluster.node_id": nodeId, "jobs.drain_grace_seconds": 1 };
  return await SuperviseProcess.start({ settings: { ...own, ...settings }, ...rest });
};

describe("two node-controllers", () => {
  it("have the agent beside the standby, and it changes sides with the leader (N4)", patience, async () => {
    await using database = await createTestDatabase();
    await using first = await superviseIn(database, "first");
    await first.served.said("the controller is LEADER");
    const env = { HOLDFAST_TOKEN: "a-token-of-the-agent" };
    await using second = await superviseIn(database, "second", { env, agent: "stubborn" });

    await second.served.said('"msg":"stand-in agent"');
    const called = second.lines.find(({ msg }) => msg === "stand-in agent") as LogLine;
    expect(called).toMatchObject({ child: "agent", token: "a-token-of-the-agent" });
    expect(called.words?.join(" ")).toBe(
      `--url ${second.served.url} --name second-worker --ops ${second.directory} --drain-timeout 1000ms`,
    );
    // Neither the database's address nor any other setting is for the code that an agent runs.
    expect(called.settings).toEqual(["HOLDFAST_LOG_FORMAT", "HOLDFAST_TOKEN"]);
    expect(await roleOf(second.served)).toMatchObject({ role: "STANDBY", leader_id: "first" });
    expect(first.starts("agent")).toEqual([]);

    const agent = second.pidOf("agent");
    process.kill(first.pidOf("controller"), "SIGKILL");
    await second.served.said("the agent stops: the controller is LEADER");
    expect(await comes(() => !isUp(agent, second))).toBe(true);
    await second.served.said("the agent did not stop within 3 s: killed");
    // What it had started is gone with it: only the node-controller and the controller are there.
    expect(await comes(() => second.processes.length === 2)).toBe(true);
    // The one that was killed is back, as a standby, and has the agent now.
    await first.served.said("the agent starts");
    expect(first.starts("controller")).toHaveLength(2);
    expect(await comes(() => isUp(first.pidOf("agent"), first))).toBe(true);
    expect(await roleOf(first.served)).toMatchObject({ role: "STANDBY", leader_id: "second" });
    expect(second.starts("agent")).toHaveLength(1);
  });

  it(
    "leave no process behind when they are killed: the controllers stop cleanly, a stubborn agent is killed",
    patience,
    async () => {
      await using database = await createTestDatabase();
      await using leader = await superviseIn(database, "leader");
      await leader.served.said("the controller is LEADER");
      await using standby = await superviseIn(database, "standby", { agent: "stubborn" });
      await standby.served.said('"msg":"stand-in agent"');
      for (const each of [standby, leader]) {
        expect(each.processes.length).toBe(each === leader ? 2 : 4);
        each.served.kill("SIGKILL");
        expect(await comes(() => each.processes.length === 0)).toBe(true);
      }
      expect(await statusOf(database, "leader")).toBe("left");
      expect(await statusOf(database, "standby")).toBe("left");
    },
  );
});

describe("a node-controller beside a leader", () => {
  let database: TestDatabase;
  let leader: ServeProcess;

  beforeAll(async () => {
    database = await createTestDatabase();
    const settings = { ...quickCluster, "store.url": database.url, "cluster.node_id": "leader" };
    leader = await ServeProcess.start({ settings });
    await leader.said('"msg":"elected"');
  });

  afterAll(async () => {
    await leader?.[Symbol.asyncDispose]();
    await database?.drop();
  });

  const follower = async (nodeId: string, agent: SuperviseOptions["agent"] = "obeys"): Promise<SuperviseProcess> => {
    const supervisor = await superviseIn(database, nodeId, { agent, settings: { "cluster.promotable": false } });
    await supervisor.served.said('"msg":"stand-in agent"');
    return supervisor;
  };

  it("starts each child again that is killed", patience, async () => {
    await using supervisor = await follower("mended", "stubborn");
    process.kill(supervisor.pidOf("agent"), "SIGKILL");
    expect(await comes(() => supervisor.starts("agent").length === 2)).toBe(true);
    // What the first agent had started is not left: this is itself, the controller, and the second agent with its own.
    await supervisor.served.said("the agent ended (SIGKILL)");
    expect(await comes(() => supervisor.processes.length === 4)).toBe(true);
    expect(supervisor.starts("controller")).toHaveLength(1);

    const [controller, agent] = [supervisor.pidOf("controller"), supervisor.pidOf("agent")];
    process.kill(controller, "SIGKILL");
    await supervisor.served.said("the agent stops: its controller is gone");
    expect(await comes(() => supervisor.starts("agent").length === 3)).toBe(true);
    expect(supervisor.pidOf("controller")).not.toBe(controller);
    expect(isUp(agent, supervisor)).toBe(false);
    expect(await roleOf(supervisor.served)).toMatchObject({ node_id: "mended", role: "STANDBY" });
  });

  it("has no agent while its controller drains, and has it again after a resume", patience, async () => {
    await using supervisor = await follower("drained");
    await supervisor.served.post("/cluster/nodes/drained/drain");
    await supervisor.served.said("the agent stops: the controller is DRAINING");
    expect(await comes(() => !isUp(supervisor.pidOf("agent"), supervisor))).toBe(true);
    await supervisor.served.post("/cluster/nodes/drained/resume");
    expect(await comes(() => supervisor.starts("agent").length === 2)).toBe(true);
  });

  it.each(["SIGTERM", "SIGINT"] as const)(
    "stops both children in order at %s, and exits with 0",
    patience,
    async (signal) => {
      const nodeId = `stopped-${signal.toLowerCase()}`;
      await using supervisor = await follower(nodeId);
      supervisor.served.kill(signal);
      expect(await supervisor.served.exited).toEqual({ code: 0, signal: null });
      expect(supervisor.processes).toEqual([]);
      const ends = supervisor.lines.filter(({ msg }) => msg.includes(" ended (")).map(({ msg }) => msg);
      expect(ends).toEqual(["the agent ended (exit code 0)", "the controller ended (exit code 0)"]);
      expect(await statusOf(database, nodeId)).toBe("left");
    },
  );

  it("kills both children at the second signal, and exits with 1", patience, async () => {
    await using supervisor = await follower("hurried", "stubborn");
    supervisor.served.kill("SIGTERM");
    await supervisor.served.said("a signal is not heard");
    supervisor.served.kill("SIGTERM");
    expect(await supervisor.served.exited).toEqual({ code: 1, signal: null });
    expect(supervisor.served.output).toContain("second signal (SIGTERM): stopping at once");
    // What one of its children had started is killed with it, and is nobody's to wait for.
    await expect.poll(() => supervisor.processes).toEqual([]);
  });

  it("logs an error that got past everybody, stops both children, and exits with 1", patience, async () => {
    const throwing = 'process.on("SIGUSR2",()=>{throw/**/new/**/Error("boom")})';
    const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(throwing)}` };
    await using supervisor = await superviseIn(database, "thrower", { env, settings: { "cluster.promotable": false } });
    await supervisor.served.said('"msg":"stand-in agent"');
    supervisor.served.kill("SIGUSR2");
    expect(await supervisor.served.exited).toEqual({ code: 1, signal: null });
    expect(supervisor.served.output).toContain("boom");
    expect(supervisor.processes).toEqual([]);
    expect(await statusOf(database, "thrower")).toBe("left");
  });

  it("reports a crash loop, tries again ever more slowly, and goes on serving", patience, async () => {
    await using supervisor = await follower("looping", "crashes");
    await supervisor.served.said("the agent is in a crash loop: it ended 5 times in a row");
    const starts = supervisor.starts("agent").map(({ time }) => time);
    expect(starts).toHaveLength(5);
    for (const [index, firstMs] of [250, 500, 1_000, 2_000].entries()) {
      // A pause may be a fifth shorter, and the clock of the log is not that of the timer.
      expect((starts[index + 1] ?? 0) - (starts[index] ?? 0)).toBeGreaterThanOrEqual(firstMs * 0.8 - 10);
    }
    const complaint = supervisor.lines.find(({ msg }) => msg === "it does not work");
    expect(complaint).toMatchObject({ child: "agent", level: 50 });
    expect(await roleOf(supervisor.served)).toMatchObject({ role: "STANDBY", leader_id: "leader" });
  });

  it("has no agent for long when it is frozen itself: nobody could turn it off", patience, async () => {
    await using supervisor = await follower("frozen");
    const agent = supervisor.pidOf("agent");
    supervisor.served.freeze();
    expect(await comes(() => !isUp(agent, supervisor))).toBe(true);
    expect(isUp(supervisor.pidOf("controller"), supervisor)).toBe(true);
    supervisor.served.thaw();
    expect(await comes(() => supervisor.starts("agent").length === 2)).toBe(true);
  });

  it(
    "runs as controller a node that serves the API and the scheduler, whatever roles the settings name",
    patience,
    async () => {
      const own = { "store.url": database.url, "cluster.node_id": "plain", "cluster.promotable": false };
      const settings = { ...quickCluster, ...own, "cluster.roles": "gateway,worker" };
      await using controller = await ServeProcess.start({ command: "controller", settings });
      const { nodes } = await controller.read<{ readonly nodes: readonly { node_id: string; roles: string[] }[] }>(
        "/cluster/nodes",
      );
      expect(nodes.find(({ node_id }) => node_id === "plain")?.roles.toSorted()).toEqual(["gateway", "scheduler"]);
      expect(controller.output).toContain("cluster.roles (gateway, worker) is not used");
      controller.kill("SIGTERM");
      expect(await controller.exited).toEqual({ code: 0, signal: null });
    },
  );

  it("gives up with 2 where its controller never gets to serve, because its port is taken", patience, async () => {
    const port = Number(new URL(leader.url).port);
    const settings = { ...quickCluster, "store.url": database.url, "cluster.node_id": "late", "api.port": port };
    await using supervisor = await ServeProcess.spawn({ command: "supervise", settings });
    expect(await supervisor.exited).toEqual({ code: 2, signal: null });
    expect(supervisor.output).toContain("[ADDRESS_IN_USE]");
    expect(supervisor.output.match(/the controller starts"/g)).toHaveLength(5);
  });
});
