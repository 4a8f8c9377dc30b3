import { describe, expect, it } from "vitest";
import { run } from "../../src/cli/run.js";
import { FakeCommandLine } from "../support/fake-command-line.js";
import { FakeNodeServer, fakeCluster, fakeLeader, fakeNode } from "../support/fake-node.js";

const enter = "\u001b[?1049h";
const leave = "\u001b[?1049l";

const watch = (cli: FakeCommandLine, url: string, ...more: readonly string[]): Promise<number> =>
  run(["cluster", "watch", "--interval", "5ms", "--url", url, ...more], cli);

const calm = () => fakeCluster([fakeNode("a"), fakeNode("b")], fakeLeader("a", 1));

describe("cluster watch on a terminal", () => {
  it.each([
    ["q", (cli: FakeCommandLine) => cli.press("q")],
    ["Ctrl-C as a key", (cli: FakeCommandLine) => cli.press("\u0003")],
    ["SIGINT", (cli: FakeCommandLine) => cli.send("SIGINT")],
    ["SIGTERM", (cli: FakeCommandLine) => cli.send("SIGTERM")],
  ])("draws on a screen of its own, and gives it back at %s", async (_name, end) => {
    await using node = await FakeNodeServer.start(calm());
    const cli = new FakeCommandLine({ isTTY: true, columns: 100 });
    const watching = watch(cli, node.url);
    await cli.saw("scheduler");
    end(cli);
    expect(await watching).toBe(0);
    expect(cli.written.startsWith(enter)).toBe(true);
    expect(cli.written.endsWith(leave)).toBe(true);
    expect(cli.written).toContain("\u001b[?25h");
    expect(cli.isQuiet).toBe(true);
  });

  it("draws again when something has changed", async () => {
    await using node = await FakeNodeServer.start(calm());
    const cli = new FakeCommandLine({ isTTY: true, columns: 100 });
    const watching = watch(cli, node.url);
    await cli.saw("2 active");
    node.cluster = fakeCluster([fakeNode("a", { status: "dead" }), fakeNode("b")], fakeLeader("b", 2));
    await cli.saw("1 active, 1 dead");
    cli.press("q");
    expect(await watching).toBe(0);
  });

  it("goes on through another node that it has learnt of, and says so", async () => {
    await using other = await FakeNodeServer.start(calm());
    await using named = await FakeNodeServer.start(
      fakeCluster([fakeNode("a"), fakeNode("b", { url: other.url })], fakeLeader("a", 1)),
    );
    const cli = new FakeCommandLine({ isTTY: true, columns: 200 });
    const watching = watch(cli, named.url);
    await cli.saw("2 active");
    await named.stop();
    await cli.saw(`${named.url} does not answer; looking through ${other.url}.`);
    await other.stop();
    await cli.saw("What you see is");
    cli.press("q");
    expect(await watching).toBe(0);
  });

  it("gives the screen back when it fails", async () => {
    await using node = await FakeNodeServer.start(calm());
    const cli = new FakeCommandLine({ isTTY: true });
    const watching = watch(cli, node.url);
    await cli.saw("2 active");
    // A picture that no node would send.
    node.cluster = { ...calm(), leaders: null as never };
    expect(await watching).toBe(1);
    expect(cli.written.endsWith(leave)).toBe(true);
    expect(cli.isQuiet).toBe(true);
  });

  it("is an error where nobody answers from the start: no screen, and exit 4", async () => {
    const node = await FakeNodeServer.start(calm());
    await node.stop();
    const cli = new FakeCommandLine({ isTTY: true });
    expect(await watch(cli, node.url)).toBe(4);
    expect(cli.written).toBe("");
  });
});

describe("cluster watch without a terminal", () => {
  it("says what is there, and then a line for each change", async () => {
    await using node = await FakeNodeServer.start(calm());
    const cli = new FakeCommandLine();
    const watching = watch(cli, node.url);
    await cli.saw("a active, b active; a leads scheduler");
    node.cluster = fakeCluster([fakeNode("a"), fakeNode("b"), fakeNode("c")], fakeLeader("a", 1));
    await cli.saw("c joined (active)");
    node.cluster = fakeCluster([fakeNode("a", { status: "dead" }), fakeNode("b"), fakeNode("c")], fakeLeader("b", 2));
    await cli.saw("a is dead, and was active");
    cli.send("SIGTERM");
    expect(await watching).toBe(0);
    const lines = cli.written.trimEnd().split("\n");
    expect(lines).toHaveLength(4);
    expect(lines[2]).toContain("b leads scheduler after a, epoch 2 (evidence, 5.1 ms without a leader)");
    expect(cli.written).not.toContain("\u001b");
  });

  it("--json writes an object a line", async () => {
    await using node = await FakeNodeServer.start(calm());
    const cli = new FakeCommandLine({ isTTY: true });
    const watching = watch(cli, node.url, "--json");
    await cli.saw("watching");
    node.cluster = fakeCluster([fakeNode("a"), fakeNode("b")], fakeLeader(null, 1));
    await cli.saw("leader_gone");
    cli.send("SIGINT");
    expect(await watching).toBe(0);
    const changes = cli.written
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(changes.at(-1)).toMatchObject({ kind: "leader_gone", role: "scheduler", epoch: 1, node_id: null });
  });
});
