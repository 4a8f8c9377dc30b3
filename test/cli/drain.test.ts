import { describe, expect, it } from "vitest";
import { run } from "../../src/cli/run.js";
import { FakeCommandLine } from "../support/fake-command-line.js";
import { FakeNodeServer, fakeCluster, fakeLeader, fakeNode } from "../support/fake-node.js";

const busy = () => fakeCluster([fakeNode("a", { status: "draining", current_jobs: 3 })], fakeLeader(null, 1));

describe("node drain", () => {
  it("shows on a terminal what is still under way, and wipes it away in the end", async () => {
    await using node = await FakeNodeServer.start(busy());
    node.acted = false;
    const cli = new FakeCommandLine({ isTTY: true });
    const draining = run(["node", "drain", "a", "--url", node.url], cli);
    await expect.poll(() => cli.complained).toContain("a: draining, 3 under way");
    node.acted = true;
    expect(await draining).toBe(0);
    expect(cli.complained.endsWith("\r\u001b[K")).toBe(true);
    expect(cli.written).toBe('a is drained; "holdfast node resume a" takes it back.\n');
  });

  it("waits no longer than it was told, and says that the node goes on", async () => {
    await using node = await FakeNodeServer.start(busy());
    node.acted = false;
    const cli = new FakeCommandLine();
    expect(await run(["node", "drain", "a", "--timeout", "20ms", "--url", node.url], cli)).toBe(1);
    expect(cli.complained).toBe(
      'holdfast: Node "a" has not finished within 20.0 ms; it goes on draining: see "holdfast node show a". [REFUSED]\n',
    );
  });

  it("only asks with --no-wait", async () => {
    await using node = await FakeNodeServer.start(busy());
    node.acted = false;
    const cli = new FakeCommandLine();
    expect(await run(["node", "drain", "a", "--no-wait", "--url", node.url], cli)).toBe(0);
    expect(cli.written).toBe("a was asked to drain.\n");
  });
});
