import { randomUUID } from "node:crypto";
import type { Clock } from "../../election/clock.js";
import { untilEither } from "../../lifecycle/either.js";
import { pause } from "../../lifecycle/pause.js";
import { Signal } from "../../lifecycle/signal.js";
import { type WorkerBook, workerLeasePrefix } from "../../store/worker-contract.js";
import type { Json } from "../core/job.js";
import { orderJson, readAnswer, type WorkerAnswer, type WorkerOrder } from "./worker-order.js";

export interface OrderPostParts {
  readonly book: Pick<WorkerBook, "send" | "withdraw" | "collect">;
  readonly clock: Clock;
  readonly incarnation: string;
  /** Nothing is looked for more often than this, unless a notice says that it is there. */
  readonly beatMs: number;
  readonly trouble: (what: string, error: unknown) => void;
  /** An answer came for which nobody waits any more. */
  readonly unclaimed: (id: string, answer: WorkerAnswer) => void;
}

interface Waiting {
  readonly resolve: (answer: WorkerAnswer | null) => void;
  /** It is known to be in the book. */
  isSent: boolean;
}

/** Notices come where they can; where they come, looking is rarely of use. */
const slowestLook = 8;

/**
 * A worker's letters to the leader, and the answers. A notice tells when to look; looking by itself is only the backstop, and
 * there is none while nothing is waited for.
 */
export class OrderPost {
  private readonly parts: OrderPostParts;
  private readonly waiting = new Map<string, Waiting>();
  /** Orders that may be in the book although nobody waits for them: the database did not say. */
  private readonly strays = new Set<string>();
  private readonly changed: Signal;
  private isNoticed = false;
  private isClosed = false;
  private lookAt = 0;
  private pauseMs: number;

  constructor(parts: OrderPostParts) {
    this.parts = parts;
    this.changed = new Signal(parts.clock);
    this.pauseMs = parts.beatMs;
    void this.keepLooking();
  }

  newId(): string {
    return `${workerLeasePrefix(this.parts.incarnation)}${randomUUID()}`;
  }

  /** Something may have come. */
  hear(): void {
    this.isNoticed = true;
    this.changed.notify();
  }

  close(): void {
    this.isClosed = true;
    this.changed.notify();
    for (const { resolve } of this.waiting.values()) resolve(null);
  }

  /** Null where nobody has answered, and nobody will: the order is out of the book, as far as that is known. */
  async ask(
    id: string,
    order: WorkerOrder,
    { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<WorkerAnswer | null> {
    if (signal.aborted || this.isClosed) return null;
    let isAnswered = false;
    const over = new AbortController();
    const answered = new Promise<WorkerAnswer | null>((resolve) => {
      this.waiting.set(id, { resolve, isSent: false });
    }).then((answer) => {
      isAnswered = true;
      return answer;
    });
    try {
      if (!(await this.send(id, order))) return null;
      const late = untilEither(signal, over.signal, async (either) => {
        await pause(this.parts.clock, timeoutMs, either);
        return null;
      });
      const answer = await Promise.race([answered, late]);
      return isAnswered ? answer : await this.withdraw(id);
    } finally {
      this.waiting.delete(id);
      over.abort();
    }
  }

  private async send(id: string, order: WorkerOrder): Promise<boolean> {
    const { book, trouble } = this.parts;
    try {
      await book.send(id, orderJson(order));
    } catch (error) {
      this.stray(id);
      trouble("cannot ask the leader for work", error);
      return false;
    }
    const sent = this.waiting.get(id);
    if (sent !== undefined) sent.isSent = true;
    this.lookSoon();
    return true;
  }

  private lookSoon(): void {
    const { clock, beatMs } = this.parts;
    this.pauseMs = beatMs;
    this.lookAt = clock.mono() + beatMs;
    this.changed.notify();
  }

  private stray(id: string): void {
    this.strays.add(id);
    this.lookSoon();
  }

  private async withdraw(id: string): Promise<WorkerAnswer | null> {
    if (this.isClosed) return null;
    try {
      return answerOf(await this.parts.book.withdraw(id));
    } catch (error) {
      this.stray(id);
      this.parts.trouble("cannot take back what the leader was asked for", error);
      return null;
    }
  }

  private async keepLooking(): Promise<void> {
    const { clock, beatMs, trouble } = this.parts;
    while (!this.isClosed) {
      const isIdle = this.waiting.size + this.strays.size === 0;
      if (!this.isNoticed) await this.changed.wait(isIdle ? null : Math.max(0, this.lookAt - clock.mono()));
      if (this.isClosed || !(this.isNoticed || clock.mono() >= this.lookAt)) continue;
      this.isNoticed = false;
      if (this.waiting.size + this.strays.size === 0) {
        this.lookAt = Number.POSITIVE_INFINITY;
        continue;
      }
      try {
        const isFound = await this.look();
        this.pauseMs = isFound ? beatMs : Math.min(2 * this.pauseMs, slowestLook * beatMs);
      } catch (error) {
        trouble("cannot read the leader's answers", error);
        this.pauseMs = Math.min(2 * this.pauseMs, slowestLook * beatMs);
      }
      this.lookAt = clock.mono() + this.pauseMs;
    }
  }

  /** Whether there was anything. */
  private async look(): Promise<boolean> {
    const { book, unclaimed } = this.parts;
    const sent = [...this.waiting].filter(([, { isSent }]) => isSent).map(([id]) => id);
    const { answers, waiting } = await book.collect();
    const there = new Set(waiting);
    for (const { id, answer } of answers) {
      there.add(id);
      const read = readAnswer(answer);
      const who = this.waiting.get(id);
      if (who === undefined) unclaimed(id, read);
      else who.resolve(read);
    }
    // In the book before this look, and not any more: it was lost with the answer, or with the database's last crash.
    for (const id of sent) if (!there.has(id)) this.waiting.get(id)?.resolve(null);
    this.strays.clear();
    for (const id of waiting) {
      if (this.waiting.has(id)) continue;
      const answer = await this.withdraw(id);
      if (answer !== null) unclaimed(id, answer);
    }
    return answers.length > 0;
  }
}

function answerOf(answer: Json): WorkerAnswer | null {
  return answer === null ? null : readAnswer(answer);
}
