import { describe, expect, it } from "vitest";
import { createTestCluster } from "../testing.js";

const minute = 60_000;

describe("a node that serves leaves its metrics for the others", () => {
  it.each([
    ["with each look at the alerts", { enabled: true, interval: "5s" }],
    ["by itself where those looks are rare", { enabled: true, interval: "1m" }],
    ["by itself where there are no alerts", { enabled: false }],
  ])("%s", async (_how, alerting) => {
    const cluster = createTestCluster();
    const start = async (nodeId: string) => {
      const node = await cluster.start({ cluster: { nodeId }, alerting });
      node.countConnections(() => 0);
      return node;
    };
    const a = await start("a");
    await start("b");
    // Not by the copies that an election brings about: nothing happens for longer than a copy counts.
    await cluster.clock.advance(10 * minute);
    const metrics = await a.clusterMetrics();
    expect(metrics).toMatch(/node(?:_id)?="b"/);
  });
});
