import { HoldfastError, StaleEpochError } from "../../../src/errors.js";
import type { FenceToken } from "../../../src/store/contract.js";
import { MemoryQueueBook } from "../../../src/store/memory/queue-book.js";
import { MemoryQueueTables } from "../../../src/store/memory/queue-tables.js";
import type { LaneName } from "../../../src/store/queue-contract.js";
import type { Coverage } from "./coverage.js";
import type { QueueHooks } from "./hooks.js";
import { type BookRequest, fenceOf, waitsFor } from "./request.js";
import { queueName } from "./scenario.js";
import type { VirtualTime } from "./virtual-time.js";

interface LateDeed {
  readonly request: BookRequest;
  readonly at: number;
}

/** Who is told of every commit. */
export interface Auditor {
  /** Called before and after what a request does, with nothing in between. */
  before(request: BookRequest): void;
  after(request: BookRequest): void;
}

/** The database that the queue is in: what commits, in which order, and under which epoch. */
export class QueueServer {
  readonly tables: MemoryQueueTables;
  epoch = 0n;
  /** By how much its clock is ahead of true time. */
  clockAheadMs = 1_000_000;
  isUp = true;
  auditor: Auditor | null = null;
  private readonly time: VirtualTime;
  private readonly coverage: Coverage;
  private readonly hooks: QueueHooks;
  /** Written, given up by whoever asked, and not committed yet: their rows are locked. */
  private readonly late = new Set<LateDeed>();

  constructor(time: VirtualTime, coverage: Coverage, hooks: QueueHooks) {
    this.time = time;
    this.coverage = coverage;
    this.hooks = hooks;
    const Tables = hooks.tables ?? MemoryQueueTables;
    this.tables = new Tables(this.now);
  }

  readonly now = (): number => this.time.now + this.clockAheadMs;

  /** Does what is asked, as soon as nobody holds its rows. */
  async perform(request: BookRequest): Promise<unknown> {
    for (let earlier = this.blockerOf(request); earlier !== null; earlier = this.blockerOf(request)) {
      this.coverage.count("wire", "waited for a row");
      await this.until(Math.max(earlier.at, this.time.now + 0.5));
    }
    return await this.apply(request);
  }

  /** Nobody waits for its answer any more, and it commits nevertheless, after a while. */
  async performLate(request: BookRequest, delayMs: number): Promise<void> {
    const deed = { request, at: this.time.now + delayMs };
    this.late.add(deed);
    await this.until(deed.at);
    for (
      let earlier = this.blockerOf(request);
      earlier !== null && earlier !== deed;
      earlier = this.blockerOf(request)
    ) {
      await this.until(Math.max(earlier.at, this.time.now + 0.5));
    }
    this.late.delete(deed);
    await this.apply(request);
  }

  /** Who came first: one that waits for itself is the first. */
  private blockerOf(request: BookRequest): LateDeed | null {
    for (const deed of this.late) {
      if (deed.request === request || waitsFor(request, deed.request, this.idOf)) return deed;
    }
    return null;
  }

  private async until(time: number): Promise<void> {
    await new Promise<void>((resolve) => this.time.at(time, resolve));
  }

  private readonly idOf = ({ stage, lane }: LaneName): number | null =>
    this.tables.find(queueName, stage, lane)?.id ?? null;

  /** In one step: a method of the book, under the fence, between two looks of the auditor. */
  private async apply(request: BookRequest): Promise<unknown> {
    if (!this.isUp) throw new HoldfastError("DATABASE_AWAY", "The database is down.");
    const asked = this.hooks.rewrite?.(request) ?? request;
    const fenced = async (
      fence: FenceToken,
      fn: (tx: { onCommit(effect: () => void): void }) => Promise<void>,
    ): Promise<void> => {
      const effects: (() => void)[] = [];
      await fn({ onCommit: (effect) => effects.push(effect) });
      if (fence.epoch !== this.epoch && this.hooks.ignoresFence !== true) {
        this.coverage.count("refusal", "stale fence");
        throw new StaleEpochError(`epoch ${fence.epoch} is over: ${this.epoch} leads now`);
      }
      this.auditor?.before(request);
      this.hooks.before?.(asked, this);
      for (const effect of effects) effect();
      this.hooks.after?.(asked, this);
      this.auditor?.after(request);
    };
    const book = new MemoryQueueBook(this.tables, this.now, fenced);
    const act = book[asked.method] as (...args: readonly unknown[]) => Promise<unknown>;
    if (fenceOf(request) !== null) return await act.apply(book, [...asked.args]);
    // Whoever needs no fence does it at once.
    this.auditor?.before(request);
    const doing = act.apply(book, [...asked.args]);
    this.auditor?.after(request);
    return await doing;
  }
}
