import { EventEmitter } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { HoldfastError } from "../../errors.js";
import type { NodesAnswer } from "../../server/cluster-answers.js";
import type { RoleAnswer } from "../../server/health-answers.js";
import { NodeClient } from "../node-client.js";
import { untilAccounted } from "../takeover-account.js";
import { type DemoEvent, type DemoState, initialState, leaderOf, stateAfter } from "./demo-state.js";
import type { Wish } from "./keys.js";
import { describeExit, NodeProcess, type NodeProcessOptions } from "./node-process.js";

export type NodePlan = NodeProcessOptions & { readonly url: string };

/** The only one that these nodes contend for. */
const role = "scheduler";
const calmLookMs = 250;
const takeoverLookMs = 4;
const lookTimeoutMs = 1_000;
const startPatienceMs = 60_000;
const heirPatienceMs = 15_000;
const stopGraceMs = 10_000;

/** The node processes of a demo, and what is known of them. */
export class DemoCluster extends EventEmitter<{ changed: [after: DemoState, before: DemoState] }> {
  state: DemoState;
  private readonly plans: readonly NodePlan[];
  private readonly processes = new Map<string, NodeProcess>();
  private readonly loops = new Set<Promise<void>>();
  private readonly stopping = new AbortController();
  /** Aborted to end the pauses between looks, and replaced. */
  private pause = new AbortController();

  constructor(plans: readonly NodePlan[]) {
    super();
    this.plans = plans;
    this.state = initialState(plans);
  }

  /**
   * Resolves when all nodes are active and one leads, with an heir who would take over at once: the first thing that people do is
   * to kill it. Fails with the words of a node that does not start.
   */
  async start(signal: AbortSignal): Promise<void> {
    const failures = this.plans.map((plan) => this.spawn(plan));
    const patience = AbortSignal.any([signal, AbortSignal.timeout(startPatienceMs)]);
    const ready = this.untilReady(patience).then(() => this.untilHeir(signal));
    await Promise.race([ready, ...failures]);
    if (signal.aborted) return;
    if (patience.aborted) {
      throw new HoldfastError(
        "INTERNAL",
        `The nodes were not ready after ${startPatienceMs / 1000} s: see their logs.`,
      );
    }
  }

  get leaderId(): string | null {
    return leaderOf(this.state)?.id ?? null;
  }

  /** Does what a key asked for; `quit` is for whoever runs the demo. */
  fulfil(wish: Exclude<Wish, { kind: "quit" }>): void {
    switch (wish.kind) {
      case "tell":
        return this.note({ kind: "noticed", notice: wish.text });
      case "strike":
        return this.strike(wish.nodeId, wish.deed);
      case "revive":
        for (const nodeId of wish.wake) this.wake(nodeId);
        for (const plan of this.plans.filter(({ id }) => wish.restart.includes(id))) {
          // One that does not start is shown as dead, with what it said.
          this.spawn(plan).catch(() => undefined);
        }
    }
  }

  /** Stops every node, cleanly where that can be done in time, and resolves when no process is left. */
  async close(): Promise<void> {
    this.stopping.abort();
    await Promise.all([...this.processes.values()].map((node) => node.stop(stopGraceMs)));
    await Promise.all(this.loops);
  }

  /** For somebody who does not want to wait for `close`. */
  killAll(): void {
    for (const node of this.processes.values()) node.send("SIGKILL");
  }

  /** Resolves never; rejects when the process ends before it has answered once. */
  private async spawn(plan: NodePlan): Promise<never> {
    const node = new NodeProcess(plan);
    const watching = new AbortController();
    this.processes.set(plan.id, node);
    this.note({ kind: "started", nodeId: plan.id, pid: node.pid });
    const loop = this.watch(plan, AbortSignal.any([watching.signal, this.stopping.signal]));
    this.loops.add(loop);
    void loop.finally(() => this.loops.delete(loop));
    const exit = await node.exited;
    const at = performance.now();
    watching.abort();
    const started = this.conditionOf(plan.id) !== "starting";
    if (this.conditionOf(plan.id) !== "dead")
      this.note({ kind: "ended", nodeId: plan.id, how: describeExit(exit), at });
    if (!started && !this.stopping.signal.aborted) {
      const failure = node.failure(exit);
      this.note({ kind: "noticed", notice: failure.message });
      throw failure;
    }
    return await new Promise<never>(() => undefined);
  }

  private strike(nodeId: string, deed: "killed" | "frozen"): void {
    const at = performance.now();
    this.processes.get(nodeId)?.send(deed === "killed" ? "SIGKILL" : "SIGSTOP");
    this.note({ kind: "struck", nodeId, deed, at });
  }

  private wake(nodeId: string): void {
    this.note({ kind: "woken", nodeId });
    this.processes.get(nodeId)?.send("SIGCONT");
  }

  private conditionOf(nodeId: string): string | undefined {
    return this.state.nodes.find(({ id }) => id === nodeId)?.condition.kind;
  }

  private note(event: DemoEvent): void {
    const before = this.state;
    this.state = stateAfter(before, event);
    if (this.state === before) return;
    if (this.state.blow !== null && before.blow === null) {
      this.pause.abort();
      this.pause = new AbortController();
    }
    const [latest] = this.state.takeovers;
    if (latest !== undefined && latest.epoch !== before.takeovers[0]?.epoch) void this.account(latest.to, latest.epoch);
    this.emit("changed", this.state, before);
  }

  /** Asks one process for its role again and again while it lives; quickly while somebody is to take over. */
  private async watch({ id, url }: NodePlan, signal: AbortSignal): Promise<void> {
    const client = new NodeClient({ url, token: null, timeoutMs: lookTimeoutMs });
    while (!signal.aborted) {
      try {
        const answer = await client.get<RoleAnswer>("/role", { signal });
        this.note({ kind: "answered", nodeId: id, answer, at: performance.now() });
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof HoldfastError)) throw error;
        this.note({ kind: "unanswered", nodeId: id });
      }
      const calm = this.state.blow === null && this.conditionOf(id) !== "starting";
      await this.paused(calm ? calmLookMs : takeoverLookMs, signal);
    }
  }

  private async paused(ms: number, signal: AbortSignal): Promise<void> {
    // An abort ends the pause, and is all that it is for.
    await delay(ms, undefined, { signal: AbortSignal.any([signal, this.pause.signal]) }).catch(() => undefined);
  }

  /** Adds what the database itself recorded of a takeover. */
  private async account(nodeId: string, epoch: number): Promise<void> {
    const url = this.state.nodes.find(({ id }) => id === nodeId)?.url ?? "";
    const client = new NodeClient({ url, token: null });
    try {
      const entry = await untilAccounted(client, { role, epoch }, this.stopping.signal);
      // Null where the new leader is gone as well: the line stays without it.
      const seconds = entry?.gap_seconds ?? null;
      this.note({ kind: "accounted", epoch, databaseMs: seconds === null ? null : seconds * 1000 });
    } catch (error) {
      if (!this.stopping.signal.aborted) throw error;
    }
  }

  private async untilReady(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !(await this.isReady(signal))) await delay(20);
  }

  /** Not for ever: a server of the user's may be one on which nobody can take over before the lease has run out. */
  private async untilHeir(signal: AbortSignal): Promise<void> {
    const patience = AbortSignal.any([signal, AbortSignal.timeout(heirPatienceMs)]);
    while (this.plans.length > 1 && !patience.aborted && !(await this.hasHeir(patience))) await delay(50);
  }

  private async hasHeir(signal: AbortSignal): Promise<boolean> {
    const standbys = this.plans.filter(({ id }) => id !== this.leaderId);
    const texts = standbys.map(async ({ url }) => {
      const client = new NodeClient({ url, token: null, timeoutMs: lookTimeoutMs });
      const metrics = client.getBytes("/metrics", { signal });
      return await metrics.then(({ bytes }) => bytes.toString()).catch(() => "");
    });
    return (await Promise.all(texts)).some((text) => text.includes(`holdfast_leader_is_heir{role="${role}"} 1`));
  }

  private async isReady(signal: AbortSignal): Promise<boolean> {
    const [first] = this.plans;
    const answering = this.state.nodes.every(({ condition }) => ["leads", "stands_by"].includes(condition.kind));
    if (first === undefined || !answering || this.leaderId === null) return false;
    try {
      const client = new NodeClient({ url: first.url, token: null });
      const { nodes, leader_node_id: leader } = await client.get<NodesAnswer>("/cluster/nodes", { signal });
      const active = nodes.filter(({ status }) => status === "active").map(({ node_id }) => node_id);
      return leader === this.leaderId && this.plans.every(({ id }) => active.includes(id));
    } catch (error) {
      if (error instanceof HoldfastError || signal.aborted) return false;
      throw error;
    }
  }
}
