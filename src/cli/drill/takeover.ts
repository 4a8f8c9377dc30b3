import { setTimeout as delay } from "node:timers/promises";
import { HoldfastError } from "../../errors.js";
import type { RoleAnswer } from "../../server/health-answers.js";
import type { NodeClient } from "../node-client.js";
import { rolePath, type Scene, type Standby } from "./scene.js";

export interface Sight {
  readonly nodeId: string;
  readonly epoch: number;
  /** By performance.now(), when the answer came. */
  readonly at: number;
}

const betweenLooksMs = 2;
const lookTimeoutMs = 1_000;
const followersPatienceMs = 3_000;

/**
 * Looks at every standby again and again, from before the blow until one leads under a higher epoch, and on until the others
 * know. What it measures is what a client of the cluster would see.
 */
export class TakeoverWatch {
  private readonly scene: Scene;
  private readonly stopping = new AbortController();
  private readonly loops: readonly Promise<void>[];
  private readonly listeners = new Set<() => void>();
  private readonly follows = new Map<string, Sight>();
  private leads: Sight | null = null;
  private looked = 0;

  constructor(scene: Scene) {
    this.scene = scene;
    this.loops = scene.standbys.map((standby) => this.look(standby));
  }

  /** Resolves when each standby was asked once: from then on the connections are open. */
  async warm(signal: AbortSignal): Promise<void> {
    await this.until(() => this.looked >= this.scene.standbys.length, signal);
  }

  async leader(signal: AbortSignal): Promise<Sight> {
    await this.until(() => this.leads !== null, signal);
    if (this.leads === null) throw new HoldfastError("BROKEN_INVARIANT", "A takeover was seen and is gone.");
    return this.leads;
  }

  /** Those who know of the new leader, in the order in which they learnt of it; waits for them a little. */
  async followers(signal: AbortSignal): Promise<readonly Sight[]> {
    const others = this.scene.standbys.filter(({ nodeId }) => nodeId !== this.leads?.nodeId).length;
    const patience = AbortSignal.any([signal, AbortSignal.timeout(followersPatienceMs)]);
    await this.until(() => this.follows.size >= others, patience).catch(() => signal.throwIfAborted());
    return [...this.follows.values()].sort((a, b) => a.at - b.at);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.loops);
  }

  private async look({ nodeId, client }: Standby): Promise<void> {
    const { signal } = this.stopping;
    for (let first = true; !signal.aborted; first = false) {
      try {
        const answer = await client.get<RoleAnswer>(rolePath(this.scene.role), { timeoutMs: lookTimeoutMs, signal });
        this.take(nodeId, answer);
      } catch (error) {
        // A standby that does not answer takes over from nobody; the others are looked at all the same.
        if (!(error instanceof HoldfastError) && !signal.aborted) throw error;
      }
      if (first) this.looked += 1;
      for (const listener of this.listeners) listener();
      if (!signal.aborted) await delay(betweenLooksMs);
    }
  }

  private take(nodeId: string, answer: RoleAnswer): void {
    const epoch = answer.leader_epoch;
    if (epoch === null || epoch <= this.scene.epoch) return;
    const sight = { nodeId, epoch, at: performance.now() };
    if (answer.role === "LEADER") {
      this.leads ??= sight;
      return;
    }
    if (!this.follows.has(nodeId)) this.follows.set(nodeId, sight);
    // Somebody whom nobody counted on, such as a node that came a moment ago.
    const { leader_id: leader } = answer;
    const unwatched = !this.scene.standbys.some((standby) => standby.nodeId === leader);
    if (leader !== null && unwatched) this.leads ??= { ...sight, nodeId: leader };
  }

  private async until(condition: () => boolean, signal: AbortSignal): Promise<void> {
    if (condition()) return;
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const settle = (act: () => void): void => {
        this.listeners.delete(look);
        signal.removeEventListener("abort", abort);
        act();
      };
      const look = (): void => {
        if (condition()) settle(resolve);
      };
      const abort = (): void => settle(() => reject(signal.reason as Error));
      this.listeners.add(look);
      signal.addEventListener("abort", abort, { once: true });
    });
  }
}

/** Asks a node again and again until it answers what is waited for. It was frozen a moment ago, and may be slow. */
export async function untilAnswer(
  client: NodeClient,
  role: string,
  condition: (answer: RoleAnswer) => boolean,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      const answer = await client.get<RoleAnswer>(rolePath(role), { timeoutMs: lookTimeoutMs, signal });
      if (condition(answer)) return;
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
    }
    await delay(betweenLooksMs);
  }
}
