import { describe, expect, it } from "vitest";
import { NotLeaderError, StaleEpochError } from "./errors.js";
import { createTestCluster } from "./testing.js";

describe("the test cluster", () => {
  it("elects one of two nodes, and hands the role over on demand", async () => {
    const cluster = createTestCluster();
    await using a = await cluster.start();
    await using b = await cluster.start();
    await cluster.gain(a, "scheduler");
    b.role("scheduler");
    await cluster.clock.advance(3_000);
    expect([a, b].map((node) => node.role("scheduler").gate.isLeader)).toEqual([true, false]);

    await cluster.gain(b, "scheduler");
    expect([a, b].map((node) => node.role("scheduler").gate.isLeader)).toEqual([false, true]);
    expect(b.role("scheduler").leader()).toMatchObject({ nodeId: "node-2", epoch: 2n });
  });

  it("runs the lead function at every election, and aborts its signal at every loss", async () => {
    const cluster = createTestCluster();
    await using node = await cluster.start();
    const seen: string[] = [];
    node.role("scheduler").lead((term) => {
      seen.push(`led ${term.epoch}`);
      term.signal.addEventListener("abort", () => seen.push(`stopped ${term.epoch}`));
    });
    await cluster.gain(node, "scheduler");
    await cluster.lose("scheduler");
    await cluster.clock.advance(10_000);
    expect(seen).toEqual(["led 1", "stopped 1", "led 3"]);
  });

  it("refuses what a deposed leader still tries to write", async () => {
    const cluster = createTestCluster();
    await using node = await cluster.start();
    const written: bigint[] = [];
    let deposed = false;
    const terms: Promise<unknown>[] = [];
    node.role("scheduler").lead((term) => {
      if (deposed) return;
      terms.push(
        term
          .transaction(async (tx) => {
            tx.onCommit(() => written.push(term.epoch));
            deposed = true;
            await cluster.lose("scheduler");
          })
          .catch((error: unknown) => error),
      );
    });
    await cluster.gain(node, "scheduler").catch((error: unknown) => error);
    expect(await terms[0]).toBeInstanceOf(StaleEpochError);
    expect(written).toEqual([]);
  });

  it("keeps refusing the token of a term that was lost", async () => {
    const cluster = createTestCluster();
    await using node = await cluster.start();
    await cluster.gain(node, "scheduler");
    const { gate } = node.role("scheduler");
    const token = gate.requireLeader();
    await cluster.lose("scheduler");
    expect(() => gate.ensureEpoch(token.epoch)).toThrow(NotLeaderError);
  });
});
