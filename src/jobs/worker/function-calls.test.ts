import { describe, expect, it } from "vitest";
import { createJobs } from "../../jobs.js";
import { createTestCluster } from "../../testing.js";

/** A node that leads, and has a function that answers when it is told to stop. */
async function scene() {
  const cluster = createTestCluster();
  const node = await cluster.start({ cluster: { nodeId: "a" } });
  const untilStopped = async (_: unknown, { signal }: { readonly signal: AbortSignal }): Promise<null> =>
    await new Promise((resolve) => signal.addEventListener("abort", () => resolve(null), { once: true }));
  createJobs(node, { functions: { wait: untilStopped } });
  await cluster.gain(node, "scheduler");
  for (let beat = 0; beat < 100 && node.jobs.waitingAgents === 0; beat += 1) await cluster.clock.advance(100);
  return { cluster, node };
}

const call = { name: "wait", payload: null, timeoutMs: 30_000 };

describe("the call of a function", () => {
  it("that takes too long says so, and is cancelled", async () => {
    const { cluster, node } = await scene();
    const calling = node.functions.call({ ...call, timeoutMs: 300, signal: new AbortController().signal });
    calling.catch(() => undefined);
    await cluster.clock.advance(1_000);
    await expect(calling).rejects.toMatchObject({ code: "FUNCTION_TIMED_OUT" });
    expect(node.worker.running).toBe(0);
  });

  it("that is called off, as by a node that closes, does not blame the function", async () => {
    const { cluster, node } = await scene();
    const closing = new AbortController();
    const calling = node.functions.call({ ...call, signal: closing.signal });
    calling.catch(() => undefined);
    await cluster.clock.advance(100);
    closing.abort();
    await cluster.clock.advance(100);
    await expect(calling).rejects.toMatchObject({ code: "DRAINING" });
    expect((await node.jobs.book.standing()).counts).toMatchObject({ cancelled: 1 });
  });
});
