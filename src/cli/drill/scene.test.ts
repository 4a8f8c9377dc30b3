import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import { expect, it } from "vitest";
import { FakeCommandLine } from "../../../test/support/fake-command-line.js";
import { FakeNodeServer, fakeCluster, fakeLeader, fakeNode } from "../../../test/support/fake-node.js";
import type { NodeAnswer } from "../../server/cluster-answers.js";
import { run } from "../run.js";

/** Nobody listens there: it is kept for tests of exactly this. */
const nobody = "http://127.0.0.1:9";

const read = (name: string): Buffer => readFileSync(new URL(`../../../test/support/tls/${name}`, import.meta.url));

/** A drill of a cluster that node-a leads, with these beside it; one that is not refused would hand over. */
async function drill(others: readonly NodeAnswer[], ...args: readonly string[]) {
  await using named = await FakeNodeServer.start(fakeCluster([], fakeLeader("node-a", 1)));
  const leader = fakeNode("node-a", { url: named.url, host: hostname() });
  named.cluster = fakeCluster([leader, ...others], fakeLeader("node-a", 1));
  const cli = new FakeCommandLine();
  const code = await run(["drill", "clean", "--role", "scheduler", "--url", named.url, ...args], cli);
  return { code, stderr: cli.complained, heard: named.heard.map(({ path }) => path) };
}

it("a standby whose certificate is not trusted is named, and no force is offered", async () => {
  const server = createServer({ cert: read("localhost.crt"), key: read("localhost.key") });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const { code, stderr } = await drill([fakeNode("node-b", { url })], "--yes");
    expect(code).toBe(1);
    expect(stderr).toBe(
      'holdfast: Whether a node stands by for "scheduler" cannot be told from here, so nothing was done. ' +
        `Node "node-b" could not be asked: The node at ${url} cannot be trusted (its certificate is not trusted: self-signed ` +
        "certificate): name the file with its authority's certificate in NODE_EXTRA_CA_CERTS. [REFUSED]\n",
    );
  } finally {
    server.close();
  }
});

it("nodes that do not answer, or have no address, are named with the reason each", async () => {
  const { code, stderr } = await drill([fakeNode("node-b", { url: nobody }), fakeNode("node-c")], "--yes");
  expect(code).toBe(1);
  expect(stderr).toContain(`Node "node-b" could not be asked: nobody answers at ${nobody} (`);
  expect(stderr).toContain('Node "node-c" could not be asked: it has no address: set its api.public_url.');
  expect(stderr).not.toContain("--force");
});

it("a node that drains was heard, so nobody stands by: that is what --force is for", async () => {
  await using other = await FakeNodeServer.start(fakeCluster([], fakeLeader(null, 1)));
  other.role = () => ({ node_id: "b", role: "DRAINING", leader_epoch: 1, leader_id: "node-a", leader_url: null });
  const { code, stderr } = await drill([fakeNode("node-b", { url: other.url })], "--yes");
  expect(code).toBe(1);
  expect(stderr).toContain('No other node stands by for "scheduler"');
  expect(stderr).toContain("--force");
});

it("where one stands by, the others are told of before anybody is asked to agree", async () => {
  await using other = await FakeNodeServer.start(fakeCluster([], fakeLeader(null, 1)));
  other.role = () => ({ node_id: "b", role: "STANDBY", leader_epoch: 1, leader_id: "node-a", leader_url: null });
  const others = [fakeNode("node-b", { url: other.url }), fakeNode("node-c", { url: nobody })];
  const { code, stderr, heard } = await drill(others);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^holdfast: Node "node-c" could not be asked: nobody answers at [^\n]*\nholdfast: This makes/);
  expect(heard.some((path) => path.endsWith("/step-down"))).toBe(false);
});
