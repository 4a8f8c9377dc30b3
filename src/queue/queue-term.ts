import { setMaxListeners } from "node:events";
import { isFailure, NotLeaderError, StaleEpochError } from "../errors.js";
import { pause } from "../lifecycle/pause.js";
import { Appender } from "./appender.js";
import { carefulUntil } from "./core/lane.js";
import { Deliveries } from "./deliveries.js";
import { Intake, termEnded } from "./intake.js";
import { LaneTable } from "./lane-table.js";
import { Redriving } from "./redriving.js";
import { type SettlingLine, Settlings } from "./settlings.js";
import { Steering } from "./steering.js";
import type { QueueTermParts } from "./term-parts.js";

const restartPauseMs = 100;
const longestPauseMs = 5_000;
/** How often the leader looks whether somebody has steered a lane. */
const lookMs = 1_000;
/** So many lanes are put to rest by one sweep. */
const restBatch = 1_000;

/** The queue during one term of its leader: everything in memory here dies with the term. */
export class QueueTerm {
  private readonly parts: QueueTermParts;
  private readonly table: LaneTable;
  private readonly steering: Steering;
  private intake: Intake | null = null;
  private appender: Appender | null = null;
  private redriving: Redriving | null = null;
  private deliveries: Deliveries | null = null;
  private settlings: Settlings | null = null;
  private readonly hung = new Set<Promise<void>>();
  /** How often in a row it was lost what had been claimed, by the line of commits that should have told. */
  private readonly failures: Record<SettlingLine, number> = { usual: 0, each: 0 };
  private restInDoubt = false;

  constructor(parts: QueueTermParts) {
    this.parts = parts;
    this.table = new LaneTable(parts.clock.mono, parts.settings.maxReclaims);
    this.steering = new Steering(parts, this.table, () => this.deliveries?.nudge());
  }

  /** Null until the lanes have been read. */
  get open(): Intake | null {
    return this.intake;
  }

  /** Null until the lanes have been read. */
  get redrives(): Redriving | null {
    return this.redriving;
  }

  /** Unfinished messages by stage, as far as they have been read: lanes at rest hold none. */
  depth(): ReadonlyMap<string, number> {
    const depth = new Map<string, number>();
    for (const { stage, tail, done } of this.table.all()) depth.set(stage, (depth.get(stage) ?? 0) + tail - done);
    return depth;
  }

  /** Something of it may still be written under this epoch, where nobody else would expect it. */
  get isInDoubt(): boolean {
    return this.restInDoubt || (this.appender?.doubts().length ?? 0) > 0;
  }

  /** Runs until leadership ends: takes messages in, and hands them out. */
  async run(): Promise<void> {
    const { signal, settings, clock } = this.parts;
    // Also what an earlier run in this very term had in flight.
    const segment = await this.prepared();
    const appender = new Appender(this.parts, this.table, segment);
    const intake = new Intake(this.parts, appender, () => this.appended());
    this.appender = appender;
    this.intake = intake;
    const redriving = new Redriving(this.parts, this.table, appender, () => this.freed());
    this.redriving = redriving;
    this.parts.opened();
    const taking = intake.run();
    const upkeep = this.upkeep();
    setMaxListeners(0, signal);
    signal.addEventListener("abort", () => this.deliveries?.stop(), { once: true });
    try {
      for (let again = false; !signal.aborted; again = true) {
        // What was lost once is done again at once; what fails again and again, such as a full disk, is not tried all the time.
        const failures = Math.max(...Object.values(this.failures));
        if (failures > 1) await pause(clock, Math.min(restartPauseMs * 2 ** failures, longestPauseMs), signal);
        if (again) await this.prepared();
        if (!signal.aborted) await this.deliver(); // It may have ended while the lanes were being read.
      }
    } finally {
      intake.end(termEnded(settings.name));
      await Promise.all([taking, upkeep, redriving.ended()]);
      while (this.hung.size > 0) await Promise.all(this.hung);
    }
  }

  /** There is a handler for a stage. */
  nudge(): void {
    this.deliveries?.nudge();
  }

  /** A lane was steered in this very process: need not wait for the next look. */
  async steered(): Promise<void> {
    await this.steering.look().catch((error: unknown) => {
      this.parts.trouble("what was steered is not known yet", error);
    });
  }

  private appended(): void {
    // Lanes in doubt are held until they have been read again.
    if (this.appender !== null && this.appender.doubts().length > 0) this.deliveries?.stop();
    this.redriving?.nudge();
    this.deliveries?.nudge();
    this.settlings?.nudge();
  }

  /** Lanes were held for something rare, and can be appended to again. */
  private freed(): void {
    this.intake?.nudge();
    this.appended();
  }

  /** Hands out until the term ends, or until it is no longer known what was finished. */
  private async deliver(): Promise<void> {
    const { parts, table, appender } = this;
    if (appender === null) return;
    const onFreed = (): void => {
      this.redriving?.nudge();
      this.deliveries?.nudge();
      this.intake?.nudge();
    };
    const settlings = new Settlings({
      parts,
      table,
      appender,
      onSettled: (line) => {
        this.failures[line] = 0;
        onFreed();
      },
      onFreed: () => onFreed(),
      failed: (error, line) => {
        this.failures[line] += 1;
        if (isOver(error)) parts.failed(error);
        else parts.trouble("it is not known what was finished: it may be delivered again", error);
        deliveries.stop();
      },
    });
    const deliveries = new Deliveries({ parts, table, appender, settlings, hung: this.hung, onFreed });
    this.settlings = settlings;
    this.deliveries = deliveries;
    if (appender.doubts().length > 0) deliveries.stop(); // They came into doubt while the lanes were being read.
    const settled = settlings.run();
    try {
      await deliveries.run();
    } catch (error) {
      if (isOver(error)) parts.failed(error);
      else parts.trouble("messages could not be claimed", error);
      deliveries.stop();
      this.failures.usual += 1;
    } finally {
      settlings.stop();
      await settled;
    }
  }

  private async prepared(): Promise<number> {
    const { conduct, fence, signal } = this.parts;
    const segment = await this.recover();
    return (await conduct.prepare?.(fence, signal)) === true ? await this.recover() : segment;
  }

  /** What was in flight goes back to its lane; and the lanes are as the database has them. */
  private async recover(): Promise<number> {
    const { book, fence, settings, signal, trouble } = this.parts;
    const order = { queue: settings.name, maxReclaims: settings.maxReclaims, own: true };
    for (;;) {
      try {
        const { segment, quarantined } = await this.steering.alone(async () => {
          const doubts = this.appender?.doubts() ?? [];
          const recovery = await book.recover(fence, order);
          for (const row of recovery.lanes) {
            const lane = this.table.load(row);
            lane.carefulUntil = carefulUntil(lane, settings.maxReclaims, settings.batch);
          }
          this.appender?.resolve(doubts);
          return recovery;
        });
        this.freed();
        if (quarantined > 0) {
          const many = new Error(`${quarantined} messages were in flight in too many crashes`);
          trouble("messages were put aside as dead letters", many);
        }
        return segment;
      } catch (error) {
        if (isOver(error) || isRefused(error) || signal.aborted) throw error;
        trouble("the queue could not be read", error);
        await pause(this.parts.clock, restartPauseMs);
      }
    }
  }

  /** Renews leases, looks for steered lanes, sweeps, opens and drops segments. Each look at the clock is cheap, so one pace serves for all. */
  private async upkeep(): Promise<void> {
    const { settings, signal, clock, trouble } = this.parts;
    const paceMs = Math.max(10, Math.min(settings.leaseMs / 6, settings.sweepIntervalMs, settings.segmentMs, lookMs));
    let sweptAt = clock.mono();
    let segmentAt = clock.mono();
    while (!signal.aborted) {
      await pause(clock, paceMs, signal);
      if (signal.aborted) return;
      try {
        await this.deliveries?.renew();
        await this.steering.look();
        if (clock.mono() - sweptAt >= settings.sweepIntervalMs) {
          sweptAt = clock.mono();
          await this.sweep();
        }
        if (clock.mono() - segmentAt >= settings.segmentMs) {
          await this.turnSegment();
          segmentAt = clock.mono(); // Where it failed, the last one may be closed, and be dropped under what comes.
        }
      } catch (error) {
        trouble("the upkeep of a queue failed", error);
      }
    }
  }

  private async sweep(): Promise<void> {
    const { book, fence, settings } = this.parts;
    const swept = await book.sweep(fence, settings.name);
    // Whoever still works on a lane here finds its claim gone, and then all lanes are read. Until then nobody else may (G5).
    for (const row of swept) if (this.table.get(row.id)?.inFlight !== true) this.table.load(row);
    if (swept.length > 0) this.deliveries?.nudge();
    await this.rest();
    if (settings.retentionMs !== null) {
      this.parts.requireLeader();
      await book.dropSegments(fence, settings.name, settings.retentionMs);
    }
  }

  /** Nothing may be appended to a lane while it is put to rest: it would be forgotten by the next leader. */
  private async rest(): Promise<void> {
    const { book, fence } = this.parts;
    const idle = [...this.table.all()]
      .filter((lane) => lane.tail === lane.done && !lane.inFlight && !lane.appending && !lane.atRest)
      .slice(0, restBatch);
    if (idle.length === 0) return;
    // Before it is known to be so: a reply that is lost says nothing, and the commit may come later still.
    for (const lane of idle) Object.assign(lane, { appending: true, atRest: true });
    try {
      await book.rest(
        fence,
        idle.map(({ id }) => id),
      );
    } catch (error) {
      this.restInDoubt ||= isFailure(error, "UNKNOWN_OUTCOME");
      throw error;
    } finally {
      for (const lane of idle) lane.appending = false;
      this.freed();
    }
  }

  private async turnSegment(): Promise<void> {
    const { book, fence, settings } = this.parts;
    const segment = await book.openSegment(fence, settings.name);
    if (this.appender !== null) this.appender.segment = segment;
  }
}

/** The term is over, or nothing that this process does will help. */
function isOver(error: unknown): boolean {
  return error instanceof NotLeaderError || error instanceof StaleEpochError || isFailure(error, "BROKEN_INVARIANT");
}

/** The queue is another role's. */
function isRefused(error: unknown): boolean {
  return isFailure(error, "REFUSED");
}
