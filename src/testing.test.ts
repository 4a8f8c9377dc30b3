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

  it("gives the role up when its work throws, whatever it throws, and keeps off it for a while", async () => {
    const cluster = createTestCluster();
    await using node = await cluster.start();
    let runs = 0;
    node.role("scheduler").lead(() => {
      runs += 1;
      throw new NotLeaderError("of another role");
    });
    node.role("scheduler");
    await cluster.clock.advance(1_000);
    expect(node.role("scheduler").gate.isLeader).toBe(false);
    expect(runs).toBe(1);
  });

  it("does not take over from a node that was closed while its work still ran, before its lease has run out", async () => {
    const cluster = createTestCluster();
    const stubborn = await cluster.start({ shutdown: { drainTimeoutSeconds: 0.5 } });
    await using heir = await cluster.start();
    let finish: () => void = () => undefined;
    stubborn.role("scheduler").lead(
      () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    );
    await cluster.gain(stubborn, "scheduler");
    heir.role("scheduler");
    await cluster.clock.advance(2_500);
    const closing = stubborn.close();
    await cluster.clock.advance(600);
    await closing;
    await cluster.clock.advance(3_000);
    expect(heir.role("scheduler").gate.isLeader).toBe(false);
    await cluster.clock.advance(4_000);
    expect(heir.role("scheduler").gate.isLeader).toBe(true);
    finish();
  });

  it("counts the nodes, and names who leads", async () => {
    const cluster = createTestCluster();
    await using a = await cluster.start();
    const b = await cluster.start();
    await cluster.gain(a, "scheduler");
    await b.close();
    expect(await a.cluster.info()).toMatchObject({ totalNodes: 1, activeNodes: 1, leaders: { scheduler: "node-1" } });
  });
});
