import { describe, expect, it } from "vitest";
import { run } from "../../src/cli/run.js";
import type { RoleAnswer } from "../../src/server/health-answers.js";
import { FakeCommandLine } from "../support/fake-command-line.js";
import { FakeNodeServer, fakeCluster, fakeLeader, fakeNode } from "../support/fake-node.js";

const env = { HOLDFAST_TOKEN: "hf_secret" };
const bearer = "Bearer hf_secret";

/** Leads to this machine too, but does not say so: as good as an address of another one. */
const elsewhere = (url: string): string => url.replace("127.0.0.1", "0.0.0.0");

describe("cluster watch with a token", () => {
  const start = async (told: (url: string) => string) => {
    const other = await FakeNodeServer.start(fakeCluster([fakeNode("b")], fakeLeader("b", 1)));
    const nodes = [fakeNode("a"), fakeNode("b", { url: told(other.url) })];
    const named = await FakeNodeServer.start(fakeCluster(nodes, fakeLeader("a", 1)));
    const cli = new FakeCommandLine({ env });
    const watching = run(["cluster", "watch", "--interval", "5ms", "--url", named.url], cli);
    await cli.saw("a active");
    await named.stop();
    const end = async (): Promise<void> => {
      cli.send("SIGTERM");
      expect(await watching).toBe(0);
      await other.stop();
    };
    return { cli, other, end };
  };

  it("sends it to another node of this machine when the one that was named is gone", async () => {
    const { cli, other, end } = await start((url) => url);
    await cli.saw(`looking through ${other.url}`);
    await end();
    expect(new Set(other.heard.map(({ authorization }) => authorization))).toEqual(new Set([bearer]));
  });

  it("sends it to no address elsewhere that the cluster tells, and says why it stops there", async () => {
    const { cli, other, end } = await start(elsewhere);
    await cli.saw(`${elsewhere(other.url)} is not asked: a token goes elsewhere only over HTTPS`);
    await end();
    expect(other.heard).toEqual([]);
  });
});

describe("a drill with a token", () => {
  const standing = (nodeId: string, role: RoleAnswer["role"], leader: "a" | "b"): RoleAnswer => ({
    node_id: nodeId,
    role,
    leader_epoch: leader === "a" ? 1 : 2,
    leader_id: leader,
    leader_url: null,
  });

  const drill = async (told: (url: string) => string) => {
    await using other = await FakeNodeServer.start(fakeCluster([], fakeLeader("b", 2)));
    await using named = await FakeNodeServer.start(fakeCluster([], fakeLeader("a", 1)));
    const nodes = [fakeNode("a", { url: told(named.url) }), fakeNode("b", { url: told(other.url) })];
    named.cluster = fakeCluster(nodes, fakeLeader("a", 1));
    const isAsked = (): boolean => named.heard.some(({ path }) => path.endsWith("/step-down"));
    named.role = () => standing("a", "LEADER", "a");
    other.role = () => (isAsked() ? standing("b", "LEADER", "b") : standing("b", "STANDBY", "a"));
    const cli = new FakeCommandLine({ env });
    const code = await run(["drill", "clean", "--role", "scheduler", "--yes", "--url", named.url], cli);
    expect({ code, complained: cli.complained }).toEqual({ code: 0, complained: "" });
    expect(cli.written).toContain('"scheduler" went from a to b (epoch 2)');
    return { named: named.heard, other: other.heard };
  };

  it("asks as nobody where a node stands, and shows its token only where one is needed", async () => {
    const heard = await drill((url) => url);
    for (const { path, authorization } of [...heard.named, ...heard.other]) {
      expect({ path, authorization }).toEqual({ path, authorization: path === "/role" ? undefined : bearer });
    }
    expect(heard.other.map(({ path }) => path)).toContain("/cluster/history");
  });

  it("sends it to no address elsewhere, and measures all the same", async () => {
    const heard = await drill(elsewhere);
    expect(heard.other.length).toBeGreaterThan(2);
    expect(new Set(heard.other.map(({ authorization }) => authorization))).toEqual(new Set([undefined]));
  });

  it("is not done to another process that was started under the leader's name", async () => {
    await using other = await FakeNodeServer.start(fakeCluster([], fakeLeader("a", 1)));
    await using named = await FakeNodeServer.start(fakeCluster([], fakeLeader("a", 1)));
    const nodes = [fakeNode("a", { url: named.url }), fakeNode("b", { url: other.url })];
    named.cluster = fakeCluster(nodes, fakeLeader("a", 1));
    named.role = () => standing("a", "STANDBY", "a");
    other.role = () => standing("b", "STANDBY", "a");
    const cli = new FakeCommandLine({ env });
    expect(await run(["drill", "clean", "--role", "scheduler", "--yes", "--url", named.url], cli)).toBe(1);
    expect(cli.complained).toContain('"a" no longer leads "scheduler" under epoch 1');
    expect(named.heard.map(({ path }) => path)).not.toContain("/cluster/leaders/scheduler/step-down");
  });
});
