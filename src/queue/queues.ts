import type { Clock } from "../election/clock.js";
import { HoldfastError } from "../errors.js";
import type { LaneName, LaneRow, QueueBook } from "../store/queue-contract.js";
import type { QueueView } from "../store/queue-view-contract.js";
import type { QueueCounts, QueueMetrics } from "../telemetry/queue-metrics.js";
import { setPaused, skipHead } from "./lane-steering.js";
import { QueueAge } from "./queue-age.js";
import type { QueueDefaults } from "./queue-defaults.js";
import type { Redriven } from "./redriving.js";

/** A queue as its process sees it. A `Queue` is one. */
export interface MadeQueue {
  readonly name: string;
  readonly role: string;
  /** Its stages, with what is not finished in each: from memory, and 0 where this node does not lead. */
  depthHere(): Readonly<Record<string, number>>;
  /** Whether this node works on it now. */
  readonly isOpen: boolean;
  redrive(ids: readonly string[]): Promise<readonly Redriven[]>;
  /** A lane was steered from this process: where this node leads, it need not find out by itself. */
  heed(): Promise<void>;
}

/** The queues that were made in this process, and what can be done from here to those that were made elsewhere. */
export class Queues {
  /** What can be seen of all queues, from here as from anywhere. */
  readonly view: QueueView;
  /** What a queue of this node is like that does not say otherwise. */
  readonly defaults: QueueDefaults;
  private readonly book: QueueBook;
  private readonly metrics: QueueMetrics;
  private readonly clock: Clock;
  private readonly made = new Map<string, MadeQueue>();
  private readonly counts = new Map<string, QueueCounts>();

  constructor(parts: {
    readonly store: { readonly queue: QueueBook; readonly queueView: QueueView };
    readonly metrics: QueueMetrics;
    readonly clock: Clock;
    readonly defaults: QueueDefaults;
  }) {
    this.book = parts.store.queue;
    this.view = parts.store.queueView;
    this.metrics = parts.metrics;
    this.clock = parts.clock;
    this.defaults = parts.defaults;
  }

  /** Answers with where the queue counts. Two of one name would both work on it when this node leads. */
  add(queue: MadeQueue): QueueCounts {
    if (this.made.has(queue.name)) {
      throw new HoldfastError("BAD_SETTINGS", `This node has a queue "${queue.name}" already: make it once.`);
    }
    this.made.set(queue.name, queue);
    const age = new QueueAge(this.clock, () => this.view.oldestMs(queue.name));
    const counts = this.metrics.addQueue(queue.name, {
      depth: () => queue.depthHere(),
      oldestSeconds: async () => (queue.isOpen ? await age.seconds() : 0),
    });
    this.counts.set(queue.name, counts);
    return counts;
  }

  get(name: string): MadeQueue | undefined {
    return this.made.get(name);
  }

  async pause(queue: string, lane: LaneName): Promise<LaneRow> {
    return await this.heeded(queue, await setPaused(this.book, queue, lane, true));
  }

  async resume(queue: string, lane: LaneName): Promise<LaneRow> {
    return await this.heeded(queue, await setPaused(this.book, queue, lane, false));
  }

  async skip(queue: string, lane: LaneName): Promise<LaneRow> {
    const row = await skipHead(this.book, queue, lane);
    this.counts.get(queue)?.dead(1);
    return await this.heeded(queue, row);
  }

  /** On the leader of the queue's role, whose process must have made the queue. */
  async redrive(queue: string, ids: readonly string[]): Promise<readonly Redriven[]> {
    const made = this.made.get(queue);
    if (made !== undefined) return await made.redrive(ids);
    throw new HoldfastError(
      "REFUSED",
      `The process of this node has made no queue "${queue}", so it cannot take messages in: call createQueue in it.`,
    );
  }

  private async heeded(queue: string, row: LaneRow): Promise<LaneRow> {
    await this.made.get(queue)?.heed();
    return row;
  }
}
