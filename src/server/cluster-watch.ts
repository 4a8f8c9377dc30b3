import { within } from "../lifecycle/within.js";
import {
  type LeaderAnswer,
  type NodesAnswer,
  showLeader,
  showNodes,
  showTransition,
  type TransitionAnswer,
} from "./cluster-answers.js";
import { secondsOf } from "./fields.js";
import type { Limits } from "./limits.js";
import type { ListAnswer } from "./page.js";
import type { ServedNode } from "./served-node.js";
import { showSingleNode } from "./single-node.js";

type Timed<Body> = Body & { readonly now: number };

/** Something that is as it is now, and the number of times that it has changed. */
interface Sight<Body> {
  readonly version: number;
  readonly body: Timed<Body>;
}

/** A change of leadership that came while somebody listened; they are counted in the order in which they were found. */
interface NewTransition {
  readonly count: number;
  readonly line: TransitionAnswer;
}

const longestPauseMs = 5_000;
/** Two roles may change hands at once, and the later line be seen first: so these are compared line by line, not by the last. */
const mostRecent = 100;
const mostKept = 500;

/**
 * Who leads and who is here, as the database has it, read once for all who listen at this node: at once when this node hears of a
 * change, else every second. While nobody listens, nothing is read.
 */
export class ClusterWatch {
  leaders: Sight<ListAnswer<LeaderAnswer>> | null = null;
  nodes: Sight<NodesAnswer> | null = null;
  /** The newest lines of the history, oldest first; null until it was read. */
  recent: readonly TransitionAnswer[] | null = null;
  /** Those that came since somebody listens, oldest first. */
  private fresh: readonly NewTransition[] = [];
  private count = 0;
  private readonly node: ServedNode;
  private readonly limits: Limits;
  private readonly waiting = new Set<() => void>();
  private followers = 0;
  private looking: Promise<void> | null = null;
  private reading: Promise<boolean> | null = null;
  private wake: () => void = () => undefined;
  private isNoticed = false;
  private nodesReadAt = Number.NEGATIVE_INFINITY;
  /** The database's clock minus that of this process; unknown until it was read. */
  private clockAheadMs: number | null = null;

  constructor(node: ServedNode, limits: Limits) {
    this.node = node;
    this.limits = limits;
  }

  get listeners(): number {
    return this.followers;
  }

  /** Milliseconds since 1970, by the database's clock as far as it is known. */
  now(): number {
    return this.clockAheadMs === null ? Date.now() : performance.now() + this.clockAheadMs;
  }

  follow(): Disposable {
    this.followers += 1;
    this.looking ??= this.look();
    let isOver = false;
    return {
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        this.followers -= 1;
        if (this.followers === 0) this.wake();
      },
    };
  }

  /** The number of the last transition that was found. */
  get transitions(): number {
    return this.count;
  }

  transitionsAfter(count: number): readonly TransitionAnswer[] {
    return this.fresh.filter((one) => one.count > count).map(({ line }) => line);
  }

  /** True at the next change; false after so long, or when the signal is aborted. */
  async changed(ms: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    return await new Promise<boolean>((resolve) => {
      const end = (isMore: boolean): void => {
        clearTimeout(timer);
        this.waiting.delete(more);
        signal.removeEventListener("abort", none);
        resolve(isMore);
      };
      const more = (): void => end(true);
      const none = (): void => end(false);
      const timer = setTimeout(none, ms);
      this.waiting.add(more);
      signal.addEventListener("abort", none, { once: true });
    });
  }

  private async look(): Promise<void> {
    const { clusterLookMs, databaseWaitMs } = this.limits;
    using _watching = this.node.cluster.watchLeaders(() => {
      this.isNoticed = true;
      this.wake();
    });
    let pauseMs = clusterLookMs;
    while (this.followers > 0) {
      this.isNoticed = false;
      // One at a time: an answer that comes late must not come after a newer one.
      this.reading ??= this.read().finally(() => {
        this.reading = null;
      });
      const isRead = await within(databaseWaitMs, this.reading, () => false);
      // While the database is away the streams stand, and go on where they were.
      pauseMs = isRead ? clusterLookMs : Math.min(2 * pauseMs, longestPauseMs);
      if (this.followers > 0 && !this.isNoticed) await this.pause(pauseMs);
    }
    this.forget();
  }

  private async pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Whoever comes next begins with what is so then. */
  private forget(): void {
    this.looking = null;
    this.leaders = null;
    this.nodes = null;
    this.recent = null;
    this.fresh = [];
    this.nodesReadAt = Number.NEGATIVE_INFINITY;
  }

  /** False where the database did not answer. */
  private async read(): Promise<boolean> {
    try {
      // What there was before the first sight of the leaders: whatever comes after it is told, however soon.
      if (this.recent === null) await this.readHistory();
      const isNodesTurn = performance.now() - this.nodesReadAt >= this.limits.clusterLookMs * 0.9;
      await this.readLeaders(isNodesTurn);
      await this.readHistory();
      return true;
    } catch (error) {
      this.node.log.debug({ err: error, node_id: this.node.id }, "the cluster cannot be read for those who watch it");
      return false;
    }
  }

  private async readLeaders(andNodes: boolean): Promise<void> {
    const { cluster, config } = this.node;
    const leases = await cluster.leases();
    if (andNodes) {
      const rows = await cluster.nodes();
      const [row] = rows;
      if (row !== undefined) this.clockAheadMs = row.lastHeartbeat + row.heartbeatAgeMs - performance.now();
      this.nodesReadAt = performance.now();
      const lease = leases.find(({ role }) => role === config.primaryRole);
      const body = config.cluster.enabled ? showNodes(rows, lease) : showSingleNode(this.node);
      this.nodes = this.sight(this.nodes, body, JSON.stringify);
    }
    const items = leases.toSorted((a, b) => (a.role < b.role ? -1 : 1)).map(showLeader);
    this.leaders = this.sight(this.leaders, { items, next_cursor: null }, essenceOf);
  }

  /** The same as before where nothing but the clock went on. */
  private sight<Body extends object>(
    before: Sight<Body> | null,
    body: Body,
    essence: (body: Body) => string,
  ): Sight<Body> {
    const isSame = before !== null && essence({ ...before.body, now: 0 }) === essence({ ...body, now: 0 });
    if (isSame) return before;
    this.tell();
    return { version: (before?.version ?? 0) + 1, body: { ...body, now: secondsOf(this.now()) } };
  }

  private async readHistory(): Promise<void> {
    const lines = (await this.node.cluster.history(undefined, { limit: mostRecent })).map(showTransition).toReversed();
    const known = new Set([...(this.recent ?? lines), ...this.fresh.map(({ line }) => line)].map(({ id }) => id));
    const found = lines.filter(({ id }) => !known.has(id));
    this.recent = lines;
    if (found.length === 0) return;
    const counted = found.map((line, index) => ({ count: this.count + index + 1, line }));
    this.count += found.length;
    this.fresh = [...this.fresh, ...counted].slice(-mostKept);
    this.tell();
  }

  private tell(): void {
    // Later, when what changed is in its place.
    for (const more of this.waiting) queueMicrotask(more);
  }
}

/** What stays of the leaders when time alone goes by. */
function essenceOf({ items }: ListAnswer<LeaderAnswer>): string {
  return JSON.stringify(items.map((item) => ({ ...item, lease_remaining_seconds: 0, tenure_seconds: 0 })));
}
