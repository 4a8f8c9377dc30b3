import { HoldfastError } from "../errors.js";
import { Signal } from "../lifecycle/signal.js";
import type { SettledJournal } from "../store/journal.js";
import type { LaneName, Settlement } from "../store/queue-contract.js";
import type { Appender, Incoming, PlacedBatch } from "./appender.js";
import type { Lane } from "./core/lane.js";
import type { LaneTable } from "./lane-table.js";
import {
  enter,
  firstWrite,
  journalOf,
  keeps,
  lastWrite,
  noProgress,
  type Progress,
  ready,
  settlementOf,
  tell,
} from "./progress.js";
import type { QueueTermParts } from "./term-parts.js";

/** One commit takes in so much, unless a single lane has produced more. */
const largestCommitBytes = 8 * 1_048_576;

/**
 * Commits what handlers have finished, for all lanes together, one commit after another. What a handler produced is taken in
 * by the same commit that finishes its message: both are there, or neither.
 */
export class Settling {
  private readonly parts: QueueTermParts;
  private readonly table: LaneTable;
  private readonly appender: Appender;
  private readonly onSettled: () => void;
  private readonly onFreed: () => void;
  private readonly failed: (error: unknown) => void;
  private readonly changed: Signal;
  private pending = new Map<Lane, Progress>();
  private closing = false;
  /** For what could not be settled, the lanes that it was produced for; and those of them that are held for it. */
  private wanted: readonly ReadonlySet<Lane>[] = [];
  private readonly held = new Set<Lane>();
  private lost = false;
  private endedLanes = 0;
  /** How many messages wait here to be taken into lanes of express stages, by lane. */
  private readonly coming = new Map<string, number>();
  private writes = 0;

  constructor(options: {
    readonly parts: QueueTermParts;
    readonly table: LaneTable;
    readonly appender: Appender;
    readonly onSettled: () => void;
    /** Lanes can be appended to again. */
    readonly onFreed: () => void;
    /** What has been delivered has to be looked up in the database. */
    readonly failed: (error: unknown) => void;
  }) {
    this.parts = options.parts;
    this.table = options.table;
    this.appender = options.appender;
    this.onSettled = options.onSettled;
    this.onFreed = options.onFreed;
    this.failed = options.failed;
    this.changed = new Signal(options.parts.clock);
  }

  /** How many lanes nobody works on any more, and are still in flight until the next commits. */
  get unsettled(): number {
    return this.endedLanes;
  }

  /** The message at this position is finished. */
  finished(
    lane: Lane,
    claim: number,
    message: { readonly position: number; readonly segment: number },
    produced: readonly Incoming[],
    journal: SettledJournal | null = null,
  ): void {
    if (this.lost) return;
    const progress = this.progressOf(lane, claim);
    if (journal !== null) enter(progress, journal, () => ++this.writes);
    for (const one of produced) {
      progress.produced.push(one);
      progress.producedBytes += one.body.length;
      if (this.parts.conduct.express?.has(one.stage) === true) this.count(one, 1);
    }
    progress.done = message.position;
    lane.reached = message.position;
    progress.doneSegment = message.segment;
    this.changed.notify();
  }

  isComing(to: LaneName): boolean {
    return this.coming.size > 0 && this.coming.has(keyOf(to));
  }

  private count(to: LaneName, change: 1 | -1): void {
    const key = keyOf(to);
    const count = (this.coming.get(key) ?? 0) + change;
    if (count > 0) this.coming.set(key, count);
    else this.coming.delete(key);
  }

  /** Resolves when the database knows what this lane has finished; or when nobody will tell it any more, and it is delivered again. */
  async known(lane: Lane): Promise<void> {
    const progress = this.pending.get(lane);
    if (progress !== undefined) await new Promise<void>((resolve) => progress.waiters.push(resolve));
  }

  /** What is known of the head, while it is still worked on. */
  noted(lane: Lane, claim: number, head: Settlement["head"]): void {
    if (this.lost) return;
    this.progressOf(lane, claim).head = head;
    this.changed.notify();
  }

  /** Nothing more of this claim is worked on. */
  ended(lane: Lane, claim: number, head: Settlement["head"] = ready): void {
    if (this.lost) return;
    const progress = this.progressOf(lane, claim);
    progress.head = head;
    progress.keeps = false;
    this.endedLanes += 1;
    this.changed.notify();
  }

  private progressOf(lane: Lane, claim: number): Progress {
    const known = this.pending.get(lane);
    if (known !== undefined) return known;
    const made = noProgress(lane, claim);
    this.pending.set(lane, made);
    return made;
  }

  /** An append that was in the way has ended. What is wanted is held before the next one begins, which would come first for ever. */
  nudge(): void {
    for (const lanes of this.wanted) {
      // All that one of them needs, or none: a redrive that holds some of them would wait for the others for ever.
      if ([...lanes].some((lane) => lane.appending && !this.held.has(lane))) continue;
      for (const lane of lanes) {
        lane.appending = true;
        this.held.add(lane);
      }
    }
    if (this.pending.size > 0) this.changed.notify();
  }

  /** Runs until it is told to stop and nothing is left. */
  async run(): Promise<void> {
    while (!this.closing || this.pending.size > 0) {
      if (this.pending.size === 0 || !(await this.commitNext())) await this.changed.wait();
      await this.endOfTurn();
    }
    this.letGo();
  }

  /** What other handlers finish in the same turn goes with the same commit. */
  private endOfTurn(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(resolve);
    });
  }

  stop(): void {
    this.closing = true;
    this.changed.notify();
  }

  private letGo(): void {
    for (const lane of this.held) lane.appending = false;
    this.held.clear();
    this.wanted = [];
  }

  /** False where all that is pending has to wait for an append to a lane that it produces for. */
  private async commitNext(): Promise<boolean> {
    const taken = this.next();
    let settled = taken;
    let placed: PlacedBatch | null = null;
    try {
      await this.appender.openLanes(taken.flatMap(({ produced }) => produced));
      settled = this.inOrderOfWrites(this.thoseWithFreeLanes(taken));
      if (settled.length === 0) {
        this.requireKnown();
        this.onFreed(); // Of what was held for it.
        return false;
      }
      for (const { lane } of settled) this.pending.delete(lane);
      const produced = settled.flatMap((progress) => progress.produced);
      placed = produced.length === 0 ? null : this.appender.place(produced);
      const { book, fence } = this.parts;
      const refused = await book.settle(fence, settled.map(settlementOf), placed?.batch ?? null, journalOf(settled));
      if (refused.length > 0) throw new HoldfastError("REFUSED", `The claims of ${refused.length} lanes were gone.`);
      if (placed !== null) this.appender.committed(placed);
      for (const progress of settled) this.adopt(progress);
      tell(settled);
      this.onSettled();
    } catch (error) {
      if (placed !== null) this.appender.doubt(placed);
      // Whatever became of it, the database knows: what it has not heard of is delivered again. What comes after it is not
      // heard of either, or it would be finished without what was produced before it.
      tell([...settled, ...this.pending.values()]);
      this.pending.clear();
      this.letGo();
      this.lost = true;
      this.closing = true;
      this.failed(error);
    }
    return true;
  }

  /** Lanes in doubt are read again when nothing is under way: whoever waited for one here would wait for ever. */
  private requireKnown(): void {
    if (!this.wanted.some((lanes) => this.appender.isInDoubt(lanes))) return;
    throw new HoldfastError("UNKNOWN_OUTCOME", "What is in a lane that was produced for has to be looked up.");
  }

  private next(): readonly Progress[] {
    const taken: Progress[] = [];
    let bytes = 0;
    for (const progress of this.pending.values()) {
      bytes += progress.producedBytes;
      const isFull = taken.length >= this.parts.settings.batch || bytes > largestCommitBytes;
      // Who keeps something is never left for later: others may have to wait for it.
      if (taken.length === 0 || !isFull || keeps(progress)) taken.push(progress);
    }
    return taken;
  }

  /**
   * What handlers keep is committed in the order in which they ended, whatever their lanes: the later one has seen what the
   * earlier kept. Where that has to wait for a lane, so do all after it that keep something.
   */
  private inOrderOfWrites(free: readonly Progress[]): readonly Progress[] {
    if (this.writes === 0) return free;
    const going = new Set(free);
    let waiting = Math.min(...[...this.pending.values()].filter((one) => !going.has(one)).map(firstWrite));
    for (let isStable = false; !isStable; ) {
      const early = [...going].filter((one) => keeps(one) && lastWrite(one) > waiting);
      for (const one of early) going.delete(one);
      waiting = Math.min(waiting, ...early.map(firstWrite));
      isStable = early.length === 0;
    }
    return free.filter((one) => going.has(one));
  }

  /** Those of the others are wanted. What was held for this is used now, or let go: nobody waits for a lane and holds another. */
  private thoseWithFreeLanes(taken: readonly Progress[]): readonly Progress[] {
    this.letGo();
    const free = taken.filter(({ produced }) => produced.every((message) => this.appender.isFree(message)));
    const gone = new Set(free);
    this.wanted = taken.filter((one) => !gone.has(one)).map(({ produced }) => this.appender.lanesOf(produced));
    return free;
  }

  private adopt({ lane, done, head, keeps, produced }: Progress): void {
    if (this.coming.size > 0) {
      for (const one of produced) if (this.parts.conduct.express?.has(one.stage) === true) this.count(one, -1);
    }
    const next = head.kind === "dead" ? done + 1 : done;
    if (next > lane.done) {
      lane.attempts = 0;
      lane.reclaims = 0;
    }
    lane.done = next;
    lane.reached = Math.max(lane.reached, lane.done);
    if (head.kind === "retry" || head.kind === "blocked") lane.attempts = head.attempts;
    if (head.kind === "retry" || head.kind === "delayed") lane.readyAt = this.parts.clock.mono() + head.waitMs;
    if (head.kind === "blocked") lane.blocked = true;
    if (!keeps) {
      lane.inFlight = false;
      this.endedLanes -= 1;
    }
    this.table.touch(lane);
  }
}

const keyOf = ({ stage, lane }: LaneName): string => `${stage}\n${lane}`;
