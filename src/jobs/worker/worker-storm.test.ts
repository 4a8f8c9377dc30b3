import { pino } from "pino";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { resolveConfig } from "../../config/config.js";
import { HoldfastError } from "../../errors.js";
import { HoldfastNode } from "../../holdfast-node.js";
import { pause } from "../../lifecycle/pause.js";
import { reportOf } from "../../membership/node-report.js";
import { MemoryCluster } from "../../store/memory/cluster.js";
import { MemoryDatabase } from "../../store/memory/database.js";
import { MemoryStore, type MemoryTransaction } from "../../store/memory/store.js";
import type { WorkerBook } from "../../store/worker-contract.js";
import { TestClock } from "../../testing.js";
import { createJobs } from "../create-jobs.js";

type Node = HoldfastNode<MemoryTransaction>;

/** The same numbers for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A quarter of all calls fails: half of them before they are done, half after, so that only their reply is lost. */
function troubled(book: WorkerBook, random: () => number, weather: { isBad: boolean; lost: number }): WorkerBook {
  return new Proxy(book, {
    get: (target, name) => {
      const call = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>;
      return async (...args: unknown[]): Promise<unknown> => {
        const luck = weather.isBad ? random() : 1;
        if (luck < 0.125) throw new HoldfastError("DATABASE_AWAY", "away");
        const answer = await call.apply(target, args);
        if (luck < 0.25) {
          weather.lost += 1;
          throw new HoldfastError("UNKNOWN_OUTCOME", "the reply was lost");
        }
        return answer;
      };
    },
  });
}

describe("workers in bad weather", () => {
  it.each([1, 2, 3, 4])("do every job, and it costs no attempt (seed %i)", async (seed) => {
    const random = randomOf(seed);
    const weather = { isBad: true, lost: 0 };
    const clock = new TestClock();
    const database = new MemoryDatabase({ now: () => clock.wall() });
    const shared = new MemoryCluster(database, (ms, fire) => clock.wakeAt(clock.mono() + ms, fire));
    const work = async ({ ms }: { readonly ms: number }): Promise<number> => {
      await pause(clock, ms);
      return ms;
    };
    const start = async (nodeId: string): Promise<Node> => {
      const config = resolveConfig({ cluster: { enabled: true, nodeId }, jobs: { drainGraceSeconds: 1 } }, true);
      const store = new MemoryStore(shared, config.timing.nodeTimeoutMs);
      Object.assign(store, { workers: troubled(store.workers, random, weather) });
      const log = pino({ level: "silent" });
      const afterClose = async (): Promise<void> => await Promise.resolve();
      const report = reportOf(config);
      const parts = { config, report, store, clock, random, log, registry: new Registry(), afterClose };
      const node = await HoldfastNode.start(parts);
      createJobs(node, { operations: { work }, concurrency: 3 });
      return node;
    };
    const nodes = [await start("a"), await start("b"), await start("c")];
    const leader = async (): Promise<Node> => {
      for (;;) {
        const found = nodes.find(({ jobs }) => jobs.isOpen);
        if (found !== undefined) return found;
        await clock.advance(50);
      }
    };
    const submit = async (number: number): Promise<void> => {
      const { jobs } = await leader();
      await jobs.submit(Array.from({ length: number }, () => ({ op: "work", payload: { ms: 400 * random() } })));
    };
    for (let round = 0; round < 4; round += 1) {
      await submit(15);
      await clock.advance(1_500);
      const leading = await leader();
      void leading.role("scheduler").stepDown();
      await clock.advance(3_000);
    }
    const { book } = (nodes[0] as Node).jobs;
    for (let passed = 0; (await book.standing()).counts.succeeded < 60 && passed < 200_000; passed += 500) {
      await clock.advance(500);
    }
    const { jobs } = await book.jobs({}, { limit: 100 });
    expect(jobs.map(({ state }) => state)).toEqual(jobs.map(() => "succeeded"));
    expect(jobs).toHaveLength(60);
    expect(jobs.filter(({ attempts }) => attempts !== 1)).toEqual([]);
    expect(weather.lost).toBeGreaterThan(10);
    weather.isBad = false;
    const closed = Promise.all(nodes.map(async (node) => await node.close()));
    for (let turn = 0; turn < 60; turn += 1) await clock.advance(500);
    await closed;
    expect(shared.jobs.leases.size).toBe(0);
  });
});
