/**
 * `holdfast/testing`: nodes on a database in memory, for the tests of an application. The same code runs as in production,
 * but for the store; time passes only when the test says so, and leadership is gained and lost on demand.
 */
import { pino } from "pino";
import { Registry } from "prom-client";
import { type ConfigOptions, resolveConfig } from "./config/config.js";
import type { Clock } from "./election/clock.js";
import { epochOf, parseRole } from "./election/core/names.js";
import { HoldfastNode } from "./holdfast-node.js";
import { reportOf } from "./membership/node-report.js";
import { MemoryCluster } from "./store/memory/cluster.js";
import { MemoryDatabase } from "./store/memory/database.js";
import { MemoryStore, type MemoryTransaction } from "./store/memory/store.js";

export type { MemoryTransaction } from "./store/memory/store.js";

/** A clock that stands still until it is told to move. */
export class TestClock implements Clock {
  private now = 1_000_000;
  private nextId = 1;
  private readonly timers = new Map<number, { readonly at: number; readonly fire: () => void }>();

  readonly mono = (): number => this.now;
  readonly wall = (): number => 1_700_000_000_000 + this.now;
  readonly boot = (): number => this.now;

  wakeAt(mono: number, fire: () => void): () => void {
    const id = this.nextId++;
    this.timers.set(id, { at: mono, fire });
    return () => this.timers.delete(id);
  }

  /** Moves time on, firing what falls due on the way, and lets everything that follows from it happen. */
  async advance(ms: number): Promise<void> {
    const end = this.now + ms;
    await settle();
    for (;;) {
      const due = [...this.timers]
        .filter(([, timer]) => timer.at <= end)
        .sort((a, b) => a[1].at - b[1].at || a[0] - b[0])[0];
      if (due === undefined) break;
      this.timers.delete(due[0]);
      this.now = Math.max(this.now, due[1].at);
      due[1].fire();
      await settle();
    }
    this.now = end;
    await settle();
  }
}

/** Promises that wait on promises need a few turns; the store in memory never waits for anything else. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Nodes on one database in memory, and their time. */
export interface TestCluster {
  /** The time of all its nodes, and of the database. */
  readonly clock: TestClock;
  /** A node of this cluster. Roles are contended for as with `createNode`. */
  start(options?: ConfigOptions): Promise<HoldfastNode<MemoryTransaction>>;
  /** Makes this node the leader: by an election if nobody leads, else by a step-down in its favour. */
  gain(node: HoldfastNode<MemoryTransaction>, role: string): Promise<void>;
  /** Takes the role away from whoever leads it, as a takeover would, and moves time on until its renewal was refused. */
  lose(role: string): Promise<void>;
}

/** An empty cluster; each test makes its own. */
export function createTestCluster(): TestCluster {
  const clock = new TestClock();
  const database = new MemoryDatabase({ now: () => clock.wall() });
  const shared = new MemoryCluster(database, (ms, fire) => clock.wakeAt(clock.mono() + ms, fire));
  const nodes = new Map<string, HoldfastNode<MemoryTransaction>>();
  let started = 0;
  return {
    clock,
    async start(options = {}) {
      started += 1;
      const cluster = { enabled: true, nodeId: `node-${started}`, ...options.cluster };
      const config = resolveConfig({ ...options, cluster }, true);
      const parts = {
        config,
        report: reportOf(config),
        store: new MemoryStore(shared, config.timing.nodeTimeoutMs),
        clock,
        random: () => 0.5,
        log: pino({ level: "silent" }),
        registry: new Registry(),
        afterClose: async () => await Promise.resolve(),
      };
      const node = await HoldfastNode.start(parts);
      nodes.set(node.id, node);
      return node;
    },
    async gain(node, role) {
      const handle = node.role(role);
      await clock.advance(0);
      const leader = nodes.get(handle.leader()?.nodeId ?? "");
      if (leader !== undefined && leader !== node) {
        const handedOver = leader.role(role).stepDown({ to: node.id });
        await clock.advance(0);
        await handedOver;
      }
      for (let beat = 0; beat < 10 && !handle.gate.isLeader; beat += 1) await clock.advance(1_000);
      if (!handle.gate.isLeader) throw new Error(`Node "${node.id}" did not gain role "${role}" within 10 s.`);
    },
    async lose(role) {
      database.advanceEpoch(parseRole(role), epochOf(0));
      await clock.advance(2_000);
    },
  };
}
