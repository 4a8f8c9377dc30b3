import { HoldfastError, isFailure, NotLeaderError } from "../errors.js";
import { Signal } from "../lifecycle/signal.js";
import type { DeadLetter, RedriveOrder } from "../store/queue-contract.js";
import type { Appender, Incoming } from "./appender.js";
import type { Lane } from "./core/lane.js";
import type { LaneTable } from "./lane-table.js";
import type { QueueTermParts } from "./term-parts.js";
import { untilKnown } from "./until-known.js";

/** Where a dead letter was taken in again. */
export interface Redriven {
  /** The dead letter's. */
  readonly id: string;
  readonly stage: string;
  readonly lane: string;
  readonly position: number;
}

/** How many are taken in again by one commit. */
export const mostRedriven = 1_000;

/** The end of an append is told; should it not be, a look now and then costs nothing. */
const lookAgainMs = 50;

/**
 * Takes dead letters in again, at the end of their own lanes, in the order in which they died.
 *
 * A lane has one append under way at a time, so all lanes that are needed are held first, each as soon as it is free: whoever
 * appends elsewhere never waits while it holds a lane, so this ends.
 */
export class Redriving {
  private readonly parts: QueueTermParts;
  private readonly table: LaneTable;
  private readonly appender: Appender;
  private readonly onFreed: () => void;
  private readonly changed: Signal;
  private readonly wanted = new Set<Lane>();
  private last: Promise<unknown> = Promise.resolve();

  constructor(parts: QueueTermParts, table: LaneTable, appender: Appender, onFreed: () => void) {
    this.parts = parts;
    this.table = table;
    this.appender = appender;
    this.onFreed = onFreed;
    this.changed = new Signal(parts.clock);
  }

  /** All of them, or none. */
  redrive(ids: readonly string[]): Promise<readonly Redriven[]> {
    // One after the other: two that hold lanes could wait for each other's.
    const redriven = this.last.then(async () => await this.redriveNext(ids));
    this.last = redriven.catch(() => undefined);
    return redriven;
  }

  /** Resolves when nothing that was begun is under way. */
  async ended(): Promise<void> {
    await this.last;
  }

  /** An append has ended: what is wanted is held before the next one begins. */
  nudge(): void {
    if (this.wanted.size === 0) return;
    this.holdFree();
    this.changed.notify();
  }

  private async redriveNext(ids: readonly string[]): Promise<readonly Redriven[]> {
    const letters = await this.read(ids);
    const incoming = letters.map(placeholderOf);
    await this.appender.openLanes(incoming);
    const lanes = new Set(letters.map(({ stage, lane }) => this.table.find(stage, lane) as Lane));
    await this.hold(lanes);
    const placed = this.appender.place(incoming);
    const { queue, segment, messages, waking } = placed.batch;
    const places = letters.map(({ id }, index) => {
      const { lane = 0, position = 0 } = messages[index] ?? {};
      return { id, lane, position };
    });
    try {
      await this.write({ queue, segment, letters: places, waking });
      this.appender.redriven(placed);
    } catch (error) {
      if (isFailure(error, "UNKNOWN_OUTCOME")) this.appender.doubt(placed);
      else this.appender.givenUp(placed);
      throw error;
    } finally {
      this.onFreed();
    }
    return letters.map(({ id, stage, lane }, index) => ({ id, stage, lane, position: places[index]?.position ?? 0 }));
  }

  /** Refuses where one of them is not there, or was redriven before. */
  private async read(ids: readonly string[]): Promise<readonly DeadLetter[]> {
    const { book, settings } = this.parts;
    const letters = await book.letters(settings.name, { ids, limit: mostRedriven });
    const missing = ids.filter((id) => !letters.some((letter) => letter.id === id));
    if (missing.length > 0) {
      throw new HoldfastError("NOT_FOUND", `Queue "${settings.name}" has no dead letter ${missing.join(", ")}.`);
    }
    const done = letters.find(({ redrivenAt }) => redrivenAt !== null);
    if (done !== undefined) {
      const at = new Date(done.redrivenAt ?? 0).toISOString();
      throw new HoldfastError("REFUSED", `Dead letter ${done.id} was redriven at ${at}: each is redriven once.`);
    }
    const homeless = letters.find(({ stage }) => !settings.stages.includes(stage));
    if (homeless !== undefined) {
      const { id, stage } = homeless;
      throw new HoldfastError("REFUSED", `Dead letter ${id} is of stage "${stage}", which this queue has no more.`);
    }
    return letters;
  }

  private async hold(lanes: ReadonlySet<Lane>): Promise<void> {
    const { signal, settings } = this.parts;
    for (const lane of lanes) this.wanted.add(lane);
    this.holdFree();
    while (this.wanted.size > 0 && !signal.aborted) {
      await this.changed.wait(lookAgainMs);
      this.holdFree();
    }
    if (!signal.aborted) return;
    for (const lane of lanes) if (!this.wanted.delete(lane)) lane.appending = false;
    this.onFreed();
    const { name, role } = settings;
    throw new NotLeaderError(`This node does not lead role "${role}" of queue "${name}" any more.`, { role });
  }

  private holdFree(): void {
    for (const lane of this.wanted) {
      if (lane.appending) continue;
      lane.appending = true;
      this.wanted.delete(lane);
    }
  }

  private async write(order: RedriveOrder): Promise<void> {
    const { book, fence, signal, clock } = this.parts;
    const redrive = async (): Promise<void> => {
      const fitting = await book.redrive(fence, order);
      if (fitting.length === order.letters.length) return;
      throw new HoldfastError("REFUSED", "Some of these dead letters were redriven just now: nothing was done.");
    };
    await untilKnown(redrive, { clock, signal, isOver: () => signal.aborted });
  }
}

const noBody = Buffer.alloc(0);

/** What needs a place. The body stays in the database. */
function placeholderOf({ stage, lane }: DeadLetter): Incoming {
  return { stage, lane, key: null, headers: null, body: noBody };
}
