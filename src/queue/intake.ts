import { HoldfastError, invariant, isFailure, NotLeaderError } from "../errors.js";
import { pause } from "../lifecycle/pause.js";
import { Signal } from "../lifecycle/signal.js";
import type { MessagePlace } from "../store/queue-contract.js";
import type { Appender, Incoming, PlacedBatch } from "./appender.js";
import type { QueueTermParts } from "./term-parts.js";
import { untilKnown } from "./until-known.js";

/** Where a message was taken in. */
export interface Accepted {
  readonly lane: number;
  readonly position: number;
  /** It had been taken in before, under the same key. */
  readonly duplicate: boolean;
}

/** One message of a call, which returns when all of its messages have their places. */
class Waiting {
  readonly message: Incoming;
  private readonly call: Call;
  private readonly index: number;

  constructor(message: Incoming, call: Call, index: number) {
    this.message = message;
    this.call = call;
    this.index = index;
  }

  resolve(accepted: Accepted): void {
    const { call } = this;
    call.accepted[this.index] = accepted;
    call.left -= 1;
    if (call.left === 0) call.resolve(call.accepted);
  }

  reject(error: unknown): void {
    this.call.reject(error);
  }
}

interface Call {
  readonly accepted: Accepted[];
  left: number;
  readonly resolve: (accepted: readonly Accepted[]) => void;
  readonly reject: (error: unknown) => void;
}

/** One commit takes in so much, however many calls it comes from. */
const largestBatch = 2_000;
const largestBatchBytes = 8 * 1_048_576;

/**
 * Group commit: what many callers want to be taken in while one batch commits is the next batch. A call returns after the
 * commit that holds its message, never before (G4).
 */
export class Intake {
  private readonly parts: QueueTermParts;
  private readonly appender: Appender;
  private readonly onAppended: () => void;
  private readonly changed: Signal;
  private waiting: Waiting[] = [];
  private waitingBytes = 0;
  private ended: Error | null = null;

  constructor(parts: QueueTermParts, appender: Appender, onAppended: () => void) {
    this.parts = parts;
    this.appender = appender;
    this.onAppended = onAppended;
    this.changed = new Signal(parts.clock);
  }

  /** Refused as a whole where too much waits already. */
  async add(messages: readonly Incoming[]): Promise<readonly Accepted[]> {
    if (this.ended !== null) throw this.ended;
    if (messages.length === 0) return [];
    const bytes = messages.reduce((sum, message) => sum + weightOf(message), 0);
    if (this.waitingBytes > 0 && this.waitingBytes + bytes > this.parts.settings.maxWaitingBytes) {
      const full = `${this.waitingBytes} bytes wait to be taken in already: slow down, and try again.`;
      throw new HoldfastError("TOO_BUSY", full);
    }
    this.waitingBytes += bytes;
    return await new Promise((resolve, reject) => {
      const call: Call = { accepted: [], left: messages.length, resolve, reject };
      messages.forEach((message, index) => {
        this.waiting.push(new Waiting(message, call, index));
      });
      this.changed.notify();
    });
  }

  /** A lane is free again for whoever waits for it. */
  nudge(): void {
    if (this.waiting.length > 0) this.changed.notify();
  }

  /** Runs until the term ends; then nothing that waits will be taken in. */
  async run(): Promise<void> {
    while (this.ended === null) {
      await this.changed.wait();
      while (this.ended === null && this.waiting.length > 0) {
        const taken = await this.next();
        if (taken === null) continue;
        if (taken.length === 0) break; // All of them wait for an append to their lane; its end is told.
        await this.takeIn(taken);
      }
    }
  }

  end(reason: Error): void {
    this.ended = reason;
    for (const one of this.waiting) one.reject(reason);
    this.waiting = [];
    this.changed.notify();
  }

  /**
   * The next batch, in order: a message whose lane is not free waits, and so do all after it in that lane. Null where the
   * lanes could not be looked at.
   */
  private async next(): Promise<readonly Waiting[] | null> {
    const looked = this.waiting.slice(0, 2 * largestBatch);
    try {
      await this.appender.openLanes(looked.map(({ message }) => message));
    } catch (error) {
      await this.fail(looked, error);
      return null;
    }
    if (this.ended !== null) return null; // They have been told that they are not taken in.
    const taken: Waiting[] = [];
    let bytes = 0;
    for (const one of looked) {
      if (taken.length >= largestBatch || (taken.length > 0 && bytes + one.message.body.length > largestBatchBytes))
        break;
      if (!this.appender.isFree(one.message)) continue;
      bytes += one.message.body.length;
      taken.push(one);
    }
    this.forget(taken);
    this.appender.hold(messagesOf(taken));
    return taken;
  }

  private forget(taken: readonly Waiting[]): void {
    const gone = new Set(taken);
    this.waiting = this.waiting.filter((one) => !gone.has(one));
    for (const { message } of taken) this.waitingBytes -= weightOf(message);
  }

  /** The lanes are held, from the moment they were found free until their messages have their places. */
  private async takeIn(taken: readonly Waiting[]): Promise<void> {
    let fresh: readonly Waiting[] = [];
    try {
      fresh = await this.withoutDuplicates(taken);
    } catch (error) {
      for (const one of taken) one.reject(error);
    }
    this.appender.free(messagesOf(taken));
    try {
      if (fresh.length > 0) await this.commit(fresh, []);
    } catch {
      // Its callers have been told.
    }
    this.onAppended();
  }

  /** The lanes of `next` are held meanwhile, and after it. Throws where nobody knows what is in the lanes now. */
  private async commit(fresh: readonly Waiting[], next: readonly Waiting[]): Promise<void> {
    const placed = this.place(fresh);
    this.appender.hold(messagesOf(next));
    try {
      await this.append(placed);
    } catch (error) {
      const isReplayed = isFailure(error, "DATABASE_REFUSED") && fresh.length > 1;
      if (!isReplayed) for (const one of fresh) one.reject(error);
      if (isFailure(error, "UNKNOWN_OUTCOME")) {
        this.appender.doubt(placed);
        throw error;
      }
      if (isFailure(error, "BROKEN_INVARIANT")) this.parts.failed(error);
      this.appender.givenUp(placed);
      this.appender.hold(messagesOf(next));
      if (isReplayed) await this.replay(fresh);
      return;
    }
    this.appender.committed(placed);
    this.appender.hold(messagesOf(next));
    fresh.forEach((one, index) => {
      const { lane = 0, position = 0 } = placed.batch.messages[index] ?? {};
      one.resolve({ lane, position, duplicate: false });
    });
  }

  private place(fresh: readonly Waiting[]): PlacedBatch {
    try {
      return this.appender.place(messagesOf(fresh));
    } catch (error) {
      for (const one of fresh) one.reject(error);
      throw error;
    }
  }

  /** A batch that the database refused is replayed one by one, in order: only the culprit is refused. */
  private async replay(refused: readonly Waiting[]): Promise<void> {
    for (const [index, one] of refused.entries()) {
      const next = refused.slice(index + 1);
      try {
        await this.commit([one], next);
      } catch (error) {
        this.appender.free(messagesOf(next));
        for (const one of next) one.reject(error);
        throw error;
      }
    }
  }

  private async append({ batch }: PlacedBatch): Promise<void> {
    const { book, fence, clock } = this.parts;
    const add = async (isRepeated: boolean): Promise<void> => {
      const added = await book.append(fence, batch);
      invariant(isRepeated || added === batch.messages.length, "places in a lane were given twice");
    };
    await untilKnown(add, { clock, isOver: () => this.ended !== null });
  }

  private async withoutDuplicates(taken: readonly Waiting[]): Promise<readonly Waiting[]> {
    const keys = taken.flatMap(({ message }) => (message.key === null ? [] : [message.key]));
    if (keys.length === 0) return taken;
    const { book, settings } = this.parts;
    const known = new Map<string, MessagePlace>(await book.findKeys(settings.name, keys));
    const fresh: Waiting[] = [];
    const firsts = new Map<string, Waiting>();
    for (const one of taken) {
      const { key } = one.message;
      const place = key === null ? undefined : known.get(key);
      const first = key === null ? undefined : firsts.get(key);
      if (place !== undefined) one.resolve({ ...place, duplicate: true });
      else if (first !== undefined) this.waitAgain(one);
      else {
        if (key !== null) firsts.set(key, one);
        fresh.push(one);
      }
    }
    return fresh;
  }

  /** Until the first of its key has its place. */
  private waitAgain(one: Waiting): void {
    if (this.ended !== null) return one.reject(this.ended);
    this.waitingBytes += weightOf(one.message);
    this.waiting.push(one);
  }

  private async fail(looked: readonly Waiting[], error: unknown): Promise<void> {
    if (isFailure(error, "DATABASE_AWAY")) {
      await pause(this.parts.clock, 100);
      return;
    }
    this.forget(looked);
    for (const one of looked) one.reject(error);
  }
}

/** What it takes in memory while it waits, about. */
function weightOf({ body, key, headers }: Incoming): number {
  const named =
    headers === null ? 0 : Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return restingBytes + body.length + 2 * ((key?.length ?? 0) + named);
}

const restingBytes = 200;

function messagesOf(waiting: readonly Waiting[]): readonly Incoming[] {
  return waiting.map(({ message }) => message);
}

export function termEnded(queue: string): NotLeaderError {
  return new NotLeaderError(
    `This node does not lead the role of queue "${queue}" any more; what was not taken in is not there.`,
  );
}
