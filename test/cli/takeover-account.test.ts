import { describe, expect, it } from "vitest";
import { NodeClient } from "../../src/cli/node-client.js";
import { untilAccounted } from "../../src/cli/takeover-account.js";
import { FakeNodeServer, fakeCluster, fakeLeader, fakeNode } from "../support/fake-node.js";

const ledUnder = (epoch: number) => fakeCluster([fakeNode("b")], fakeLeader("b", epoch));
const unhurried = new AbortController().signal;

describe("the account of a takeover", () => {
  it("is waited for: the new leader answers before everybody can read why it leads", async () => {
    await using node = await FakeNodeServer.start(ledUnder(1));
    const client = new NodeClient({ url: node.url, token: null });
    const account = untilAccounted(client, { role: "scheduler", epoch: 2 }, unhurried);
    // It has looked once, in vain, by the time that a later question of the same client is answered.
    await client.get("/cluster/history");
    node.cluster = ledUnder(2);
    expect(await account).toMatchObject({ epoch: 2, node_id: "b", reason: "evidence", gap_seconds: 0.0051 });
  });

  it("is missing where nobody gives it in time, and where nobody answers", async () => {
    const node = await FakeNodeServer.start(ledUnder(1));
    const client = new NodeClient({ url: node.url, token: null });
    const wanted = { role: "scheduler", epoch: 2, patienceMs: 60 };
    expect(await untilAccounted(client, wanted, unhurried)).toBeNull();
    await node.stop();
    expect(await untilAccounted(client, wanted, unhurried)).toBeNull();
  });

  it("is not waited for by somebody who gives up", async () => {
    await using node = await FakeNodeServer.start(ledUnder(1));
    const client = new NodeClient({ url: node.url, token: null });
    const given = new AbortController();
    const account = untilAccounted(client, { role: "scheduler", epoch: 2 }, given.signal);
    given.abort(new Error("enough"));
    await expect(account).rejects.toThrow("enough");
  });
});
