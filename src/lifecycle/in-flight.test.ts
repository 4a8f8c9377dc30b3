import { describe, expect, it } from "vitest";
import { DrainingError } from "../errors.js";
import { createTestCluster } from "../testing.js";
import { InFlightWork } from "./in-flight.js";

describe("work in flight", () => {
  it("is counted from entering to its end, which counts once", () => {
    const work = new InFlightWork();
    const guard = work.enter();
    const other = work.enter();
    expect(work.count).toBe(2);
    guard[Symbol.dispose]();
    guard[Symbol.dispose]();
    expect(work.count).toBe(1);
    other[Symbol.dispose]();
    expect(work.count).toBe(0);
  });

  it("is refused once a drain has begun, and what runs is waited for", async () => {
    const work = new InFlightWork();
    const guard = work.enter();
    work.refuse();
    expect(work.accepting).toBe(false);
    expect(() => work.enter()).toThrow(DrainingError);
    await expect(work.run(() => Promise.resolve())).rejects.toThrow(DrainingError);
    let idle = false;
    const waiting = work.idle().then(() => {
      idle = true;
    });
    await Promise.resolve();
    expect(idle).toBe(false);
    guard[Symbol.dispose]();
    await waiting;
    expect(idle).toBe(true);
  });

  it("is waited for no more once work is admitted again", async () => {
    const work = new InFlightWork();
    using _guard = work.enter();
    work.refuse();
    const waiting = work.idle();
    work.admit();
    await waiting;
    using _other = work.enter();
    expect(work.count).toBe(2);
  });

  it("ends with an error, too", async () => {
    const work = new InFlightWork();
    await expect(work.run(() => Promise.reject(new Error("mine")))).rejects.toThrow("mine");
    expect(work.count).toBe(0);
  });

  it("may be counted elsewhere: a drain looks at it every shutdown.poll_interval_ms", async () => {
    const cluster = createTestCluster();
    const { clock } = cluster;
    const node = await cluster.start({ shutdown: { pollIntervalMs: 250, drainTimeoutSeconds: 10 } });
    let busy = 2;
    let looks = 0;
    using _counted = node.work.also(() => {
      looks += 1;
      return busy;
    });
    expect(node.work.count).toBe(2);
    let drained = false;
    const draining = node.drain().then(() => {
      drained = true;
    });
    await clock.advance(1_000);
    expect(drained).toBe(false);
    expect(looks).toBeGreaterThanOrEqual(5);
    busy = 0;
    await clock.advance(250);
    await draining;
    expect(drained).toBe(true);
  });

  it("that was counted elsewhere is not waited for any more once its counter was taken away", async () => {
    const work = new InFlightWork();
    const counted = work.also(() => 1);
    work.restBy(async () => await Promise.resolve(counted[Symbol.dispose]()));
    work.refuse();
    await work.idle();
    expect(work.count).toBe(0);
  });
});
