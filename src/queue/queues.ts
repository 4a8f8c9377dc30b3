import { HoldfastError } from "../errors.js";
import type { LaneName, LaneRow, QueueBook } from "../store/queue-contract.js";
import type { QueueView } from "../store/queue-view-contract.js";
import { setPaused, skipHead } from "./lane-steering.js";
import type { Redriven } from "./redriving.js";

/** A queue as its process sees it. A `Queue` is one. */
export interface MadeQueue {
  readonly name: string;
  readonly role: string;
  redrive(ids: readonly string[]): Promise<readonly Redriven[]>;
  /** A lane was steered from this process: where this node leads, it need not find out by itself. */
  heed(): Promise<void>;
}

/** The queues that were made in this process, and what can be done from here to those that were made elsewhere. */
export class Queues {
  /** What can be seen of all queues, from here as from anywhere. */
  readonly view: QueueView;
  private readonly book: QueueBook;
  private readonly made = new Map<string, MadeQueue>();

  constructor(book: QueueBook, view: QueueView) {
    this.book = book;
    this.view = view;
  }

  /** Two of one name would both work on it when this node leads. */
  add(queue: MadeQueue): void {
    if (this.made.has(queue.name)) {
      throw new HoldfastError("BAD_SETTINGS", `This node has a queue "${queue.name}" already: make it once.`);
    }
    this.made.set(queue.name, queue);
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
    return await this.heeded(queue, await skipHead(this.book, queue, lane));
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
