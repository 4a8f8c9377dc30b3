import { Signal } from "../lifecycle/signal.js";
import type { ClaimWish, Settlement, StoredMessage } from "../store/queue-contract.js";
import { type Appender, type Incoming, incomingOf } from "./appender.js";
import { delayLeft, groupByLane, messageOf } from "./claimed-messages.js";
import { type Lane, sharesOf } from "./core/lane.js";
import { Express } from "./express.js";
import { HandlerSeat } from "./handler-runner.js";
import { headAfter } from "./head-after.js";
import type { LaneTable } from "./lane-table.js";
import type { Produced } from "./message.js";
import type { Settlings } from "./settlings.js";
import { Slots } from "./slots.js";
import type { QueueTermParts } from "./term-parts.js";

/** A claim of one lane that is being worked on. */
interface Flight {
  readonly lane: Lane;
  readonly claim: number;
  claimedAt: number;
  /** Nobody but its lane waits for it any more. */
  readonly part: () => void;
  /** What became of its head, as far as it is known. */
  head: Settlement["head"] | undefined;
  /** It stays in flight after the term. */
  isLeft: boolean;
}

/**
 * Hands messages to their handlers: many lanes at a time, one message of a lane after the other. Claims come before they are
 * needed, for many lanes in one statement.
 */
export class Deliveries {
  private readonly parts: QueueTermParts;
  private readonly table: LaneTable;
  private readonly appender: Pick<Appender, "atHand">;
  private readonly settlings: Settlings;
  private readonly express: Express;
  private readonly changed: Signal;
  private readonly flights = new Set<Flight>();
  /** Those whose handler has run out of time, and does not end. */
  private readonly hanging = new Set<Flight>();
  private readonly running = new Set<Promise<void>>();
  private readonly slots: Slots;
  /** How many lanes are claimed at a time. */
  private widest = Number.POSITIVE_INFINITY;
  private stopping = false;
  private readonly hung: Set<Promise<void>>;
  private readonly onFreed: () => void;

  constructor(options: {
    readonly parts: QueueTermParts;
    readonly table: LaneTable;
    readonly appender: Pick<Appender, "atHand">;
    readonly settlings: Settlings;
    /** Handlers that nobody waits for but the end of the term. */
    readonly hung: Set<Promise<void>>;
    /** One of them has ended, and its lane can go on. */
    readonly onFreed: () => void;
  }) {
    this.parts = options.parts;
    this.table = options.table;
    this.appender = options.appender;
    this.settlings = options.settlings;
    this.slots = new Slots(options.parts.settings.concurrency);
    this.express = new Express(options.parts, options.table, options.settlings);
    this.hung = options.hung;
    this.onFreed = options.onFreed;
    this.changed = new Signal(options.parts.clock);
  }

  /** Something may be there to be claimed. */
  nudge(): void {
    this.changed.notify();
  }

  stop(): void {
    this.stopping = true;
    this.changed.notify();
  }

  /** Claims until it is told to stop, then waits for the handlers that run. */
  async run(): Promise<void> {
    try {
      while (!this.stopping) {
        const claimed = await this.claimNext();
        // While as many are worked on as may be, a lane whose time has come is not taken: its time would wake this at once.
        if (!claimed && !this.stopping) await this.changed.wait(this.room <= 0 ? null : this.table.nextWakeMs());
      }
    } finally {
      // Also after a claim that failed: whoever goes on with these lanes must not work beside what still runs (G5).
      this.stopping = true;
      while (this.running.size > 0) await Promise.all(this.running);
      // What is left in flight would count as a crash. Their lanes are held all the same, until they have ended.
      for (const { lane, claim, head } of this.hanging) this.settlings.of(lane).ended(lane, claim, head);
      this.hanging.clear();
    }
  }

  /** The lanes whose lease is a third over. */
  async renew(): Promise<void> {
    const { book, fence, settings, clock } = this.parts;
    const old = [...this.flights, ...this.hanging].filter(
      ({ claimedAt }) => clock.mono() - claimedAt > settings.leaseMs / 3,
    );
    if (old.length === 0) return;
    await book.renew(
      fence,
      old.map(({ lane }) => lane.id),
      settings.leaseMs,
    );
    for (const flight of old) flight.claimedAt = clock.mono();
  }

  /** While some lanes are worked on, the next are claimed already; but in one statement for many, and not one by one. */
  private get room(): number {
    const { concurrency } = this.parts.settings;
    const inFlight = this.flights.size + this.settlings.unsettled;
    if (this.flights.size > concurrency) return 0;
    return Math.min(2 * concurrency - this.flights.size, mostUnsettled * concurrency - inFlight);
  }

  private async claimNext(): Promise<boolean> {
    const { book, fence, settings, handlers, clock } = this.parts;
    const { room } = this;
    if (room <= 0) return false;
    const { batch, concurrency } = settings;
    let shares: readonly number[] = [];
    const howMany = (ready: readonly Lane[]): number => {
      shares = sharesOf(ready, batch, concurrency);
      return shares.length;
    };
    const stages = new Set(handlers.keys());
    const lanes = this.table.take(Math.min(room, this.widest), stages, howMany, (lane) => this.isAdmitted(lane));
    if (lanes.length === 0) return false;
    const claim = this.parts.nextClaim();
    const wishes = lanes.map((lane, index) => this.wishOf(lane, shares[index] ?? 1));
    const claimedAt = clock.mono();
    const found = await book.claim(fence, { queue: settings.name, claim, leaseMs: settings.leaseMs, wishes });
    this.fit(found);
    const byLane = groupByLane(found);
    for (const lane of lanes) {
      const messages = byLane.get(lane.id);
      if (messages === undefined) this.nothingFound(lane);
      else this.fly({ lane, claim, claimedAt }, messages);
    }
    return true;
  }

  private wishOf(lane: Lane, limit: number): ClaimWish {
    return { lane: lane.id, limit, known: this.appender.atHand(lane, limit) };
  }

  /** The head of each lane comes however large it is: where they are large, fewer come at a time. */
  private fit(found: readonly StoredMessage[]): void {
    const bytes = found.reduce((sum, { body }) => sum + body.length, 0);
    if (bytes > largestClaimBytes) this.widest = Math.max(1, Math.floor(Math.min(this.widest, found.length) / 2));
    else if (this.widest < this.parts.settings.concurrency * 2) this.widest *= 2;
  }

  /** The database hands nothing out: the lane was paused there, or its head still waits by the database's clock. */
  private nothingFound(lane: Lane): void {
    lane.inFlight = false;
    lane.readyAt = this.parts.clock.mono() + unclaimedPauseMs;
    this.table.touch(lane);
  }

  private fly(claimed: Omit<Flight, "part" | "head" | "isLeft">, messages: readonly StoredMessage[]): void {
    let part = (): void => undefined;
    const parted = new Promise<void>((resolve) => {
      part = resolve;
    });
    const flight: Flight = { ...claimed, part, head: undefined, isLeft: false };
    this.flights.add(flight);
    const delivered = this.deliver(flight, messages)
      .catch((error: unknown) => this.parts.failed(error))
      .finally(() => {
        this.flights.delete(flight);
        this.hanging.delete(flight);
        this.changed.notify();
      });
    const flown = Promise.race([delivered, parted]).finally(() => this.running.delete(flown));
    this.running.add(flown);
  }

  private async deliver(flight: Flight, messages: readonly StoredMessage[]): Promise<void> {
    const { settings, signal, clock, conduct } = this.parts;
    const { handlerTimeoutMs: timeoutMs, stages, maxBodyBytes } = settings;
    const lingerMs = this.settlings.settlesEach(flight.lane.stage) ? (conduct.lingerMs ?? 0) : 0;
    const seat = new HandlerSeat({ clock, timeoutMs, signal, stages, maxBodyBytes, lingerMs });
    try {
      const head = await this.deliverEach(flight, messages, seat);
      // One that hung, and was given back meanwhile, has ended before.
      const { lane, claim } = flight;
      if (flight.isLeft) return;
      if (flight.head === undefined || this.hanging.has(flight)) this.settlings.of(lane).ended(lane, claim, head);
    } finally {
      seat.leave();
    }
  }

  /** Answers with what became of the message that was not finished, if one was begun. */
  private async deliverEach(flight: Flight, messages: readonly StoredMessage[], seat: HandlerSeat) {
    const { lane, claim } = flight;
    const {
      handlers,
      fence,
      settings: { name },
    } = this.parts;
    const settling = this.settlings.of(lane);
    let attempts = lane.attempts;
    for (const stored of messages) {
      const waitMs = delayLeft(stored);
      if (waitMs > 0) return { kind: "delayed", waitMs } as const;
      await this.slots.free();
      // Asked after the wait: meanwhile the lane may have been paused. The rest goes back, and costs no attempt.
      const isHeld = this.stopping || lane.paused || !this.isAdmitted(lane) || !this.mayAct();
      const handler = isHeld ? undefined : handlers.get(lane.stage);
      if (handler === undefined) {
        this.slots.passOn();
        return undefined;
      }
      this.slots.take();
      const message = messageOf(lane, stored, attempts + 1, { queue: name, epoch: fence.epoch });
      const result = await seat.run(handler, message);
      this.slots.giveBack();
      const head = result.kind === "failed" ? headAfter(this.parts, lane, { ...result, attempts }) : undefined;
      if (result.kind !== "done" && result.stillRunning !== null) {
        if (head !== undefined) this.partFrom(flight, { ...head, kind: "retry", waitMs: 0 }, result.stillRunning);
        await result.stillRunning;
      }
      flight.isLeft = result.kind === "abandoned" && this.isInDoubt(lane);
      if (result.kind !== "done") return head; // What was abandoned goes back: left in flight, it would count as a crash.
      const { produced, journal } = this.express.taken(lane, message, result);
      settling.finished(lane, claim, stored, produced.map(incomingProduced), journal);
      if (this.settlings.settlesEach(lane.stage)) await settling.known(lane);
      attempts = 0;
    }
    return undefined;
  }

  private isAdmitted(lane: Lane): boolean {
    const isAsked = this.parts.conduct.admits?.({ stage: lane.stage, lane: lane.name }) ?? true;
    return isAsked && !this.express.isHeldUp(lane);
  }

  private isInDoubt({ stage, name }: Lane): boolean {
    return this.parts.conduct.isInDoubt?.({ stage, lane: name }) ?? false;
  }

  /**
   * A function that cannot be ended holds its lane, and after the term its node, which is not fit to lead meanwhile (R10):
   * nothing may run beside it. The other lanes go on, and whoever looks can see why this one does not.
   */
  private partFrom(
    flight: Flight,
    head: Settlement["head"] & { readonly error: string },
    stillRunning: Promise<void>,
  ): void {
    const { lane, claim, part } = flight;
    this.settlings.of(lane).noted(lane, claim, head);
    this.parts.trouble(`a handler does not end, and holds lane "${lane.name}" of stage "${lane.stage}"`, head.error);
    flight.head = head;
    lane.held = true;
    this.flights.delete(flight);
    this.hanging.add(flight);
    const ended = stillRunning.then(() => {
      this.hung.delete(ended);
      lane.held = false;
      this.table.touch(lane);
      this.onFreed();
    });
    this.hung.add(ended);
    part();
    this.changed.notify();
  }

  private mayAct(): boolean {
    try {
      this.parts.requireLeader();
      return true;
    } catch (error) {
      this.parts.failed(error);
      return false;
    }
  }
}

const unclaimedPauseMs = 200;
const largestClaimBytes = 64 * 1_048_576;
/** So many times as many lanes as are worked on at a time may be in flight: what a crash repeats is in them. */
const mostUnsettled = 4;

const incomingProduced = (message: Produced): Incoming => incomingOf(message, message.stage);
