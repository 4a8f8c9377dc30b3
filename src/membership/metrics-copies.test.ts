import { describe, expect, it } from "vitest";
import { createTestCluster } from "../testing.js";

/** Between two looks, the last of them longer ago than a copy counts where they are rare. */
const afterAWhileMs = 10 * 60_000 + 50_000;

type Alerting = { readonly enabled: boolean; readonly interval?: string };

/** Two nodes that serve, and whether the first sees the metrics of the second. */
async function startTwo(alerting: Alerting) {
  const cluster = createTestCluster();
  const start = async (nodeId: string) => {
    const node = await cluster.start({ cluster: { nodeId }, alerting, shutdown: { drainTimeoutSeconds: 3_600 } });
    node.countConnections(() => 0);
    return node;
  };
  const a = await start("a");
  const b = await start("b");
  const seesOther = async (): Promise<boolean> => (await a.clusterMetrics()).includes('="b"');
  return { clock: cluster.clock, b, seesOther };
}

describe("a node that serves leaves its metrics for the others", () => {
  it.each([
    ["with each look at the alerts", { enabled: true, interval: "5s" }],
    ["by itself where those looks are rare", { enabled: true, interval: "1m" }],
    ["by itself where there are no alerts", { enabled: false }],
  ])("%s", async (_how, alerting) => {
    const { clock, seesOther } = await startTwo(alerting);
    // Nothing happens meanwhile: an election would bring about copies, too.
    await clock.advance(afterAWhileMs);
    expect(await seesOther()).toBe(true);
  });

  it("also while it closes, and looks at the alerts no more, until it has", async () => {
    const { clock, b, seesOther } = await startTwo({ enabled: true, interval: "5s" });
    let busy = 1;
    using _counted = b.work.also(() => busy);
    const closing = b.close();
    await clock.advance(afterAWhileMs);
    expect(await seesOther()).toBe(true);
    busy = 0;
    await clock.advance(5_000);
    await closing;
    expect(await seesOther()).toBe(false);
  });
});
