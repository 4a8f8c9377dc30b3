import type { Clock } from "../../election/clock.js";
import { pause } from "../../lifecycle/pause.js";
import { Signal } from "../../lifecycle/signal.js";
import type { ForsakenLease, OrderAnswer, PendingOrder, WorkerBook } from "../../store/worker-contract.js";
import { carryOut, type OrderTaker } from "./order-carrying.js";
import { answerJson, isPassing, readOrder, type WorkerAnswer, type WorkerOrder } from "./worker-order.js";

export interface OrderDeskParts {
  readonly book: Pick<WorkerBook, "pending" | "answer" | "forsaken">;
  readonly jobs: OrderTaker;
  readonly clock: Clock;
  /** The node of this desk. */
  readonly nodeId: string;
  readonly beatMs: number;
  readonly nodeTimeoutMs: number;
  readonly trouble: (what: string, error: unknown) => void;
  /** What a process that lives no more had leased goes to others. */
  readonly gaveBack: (agent: string, jobs: number) => void;
}

/** So many answered orders are remembered: a look that began before the answer still shows them. */
const mostSettled = 10_000;
const firstPauseMs = 20;
const longestPauseMs = 2_000;
/** A hundred years: then only who has left, or is another process by now, does not live. */
const anySilenceMs = 36_500 * 86_400_000;

/**
 * Where the leader takes what workers ask, during one term. An order waits here in memory, as an agent's long poll does; its answer is
 * written when there is one. Whatever has none when the term ends is the next leader's: the same order is carried out again,
 * and nothing of it is done twice. What it is told by notice it would find by itself a beat later.
 */
export class OrderDesk {
  private readonly parts: OrderDeskParts;
  private readonly changed: Signal;
  private readonly over = new AbortController();
  /** Under way, each with the way to call it off. */
  private readonly taken = new Map<string, AbortController>();
  private readonly settled = new Set<string>();
  private answers: OrderAnswer[] = [];
  private isWriting = false;
  private isForsakenDue = true;
  /** Since when the database answers without delay; null where it did not when it was last asked. */
  private heardSince: number | null = null;

  constructor(parts: OrderDeskParts) {
    this.parts = parts;
    this.changed = new Signal(parts.clock);
  }

  /** There may be something new. */
  hear(): void {
    this.changed.notify();
  }

  /** A node came, went, or is another by now. */
  membersChanged(): void {
    this.isForsakenDue = true;
    this.changed.notify();
  }

  end(): void {
    this.over.abort();
    for (const order of this.taken.values()) order.abort();
    this.changed.notify();
  }

  /** Runs until it is ended. Never rejects: what the database does not say now, it says at the next look. */
  async run(): Promise<void> {
    const { clock, beatMs, nodeTimeoutMs, trouble } = this.parts;
    let forsakenAt = 0;
    while (!this.over.signal.aborted) {
      try {
        const isForsakenDue = this.isForsakenDue || clock.mono() >= forsakenAt;
        this.isForsakenDue = false;
        await this.look();
        if (isForsakenDue) {
          // After the look, which has called off what the dead waited for: else they would be handed their jobs again.
          forsakenAt = Math.min(clock.mono() + nodeTimeoutMs, this.judgesFrom ?? Number.POSITIVE_INFINITY);
          await this.giveBackForsaken();
        }
      } catch (error) {
        this.isForsakenDue = true;
        this.heardSince = null;
        trouble("cannot read what workers ask for", error);
        await pause(clock, beatMs, this.over.signal);
      }
      if (!this.over.signal.aborted) await this.changed.wait(beatMs);
    }
  }

  /** From when on the silent are judged, where that is still to come: while the database was away, it heard nobody. */
  private get judgesFrom(): number | null {
    const { clock, nodeTimeoutMs } = this.parts;
    const from = (this.heardSince ?? clock.mono()) + nodeTimeoutMs;
    return from > clock.mono() ? from : null;
  }

  /** Asks the database with how long a process may be silent. False where its answer was so late that it says nothing of that. */
  private async heard(ask: (silenceMs: number) => Promise<void>): Promise<boolean> {
    const { clock, beatMs, nodeTimeoutMs } = this.parts;
    const sentAt = clock.mono();
    await ask(this.judgesFrom === null ? nodeTimeoutMs : anySilenceMs);
    const isPrompt = clock.mono() - sentAt <= beatMs;
    if (this.heardSince === null || !isPrompt) this.heardSince = clock.mono();
    return isPrompt;
  }

  private async look(): Promise<void> {
    const before = [...this.taken.keys()];
    let pending: readonly PendingOrder[] = [];
    await this.heard(async (silenceMs) => {
      pending = await this.parts.book.pending(before, silenceMs);
    });
    if (this.over.signal.aborted) return;
    const there = new Set(pending.map(({ id }) => id));
    // Withdrawn, or its process lives no more; one that only seemed so is taken up again by a later look.
    for (const id of before) if (!there.has(id)) this.taken.get(id)?.abort();
    // What was under way when this look began came without its body.
    const known = new Set(before);
    for (const order of pending) if (!known.has(order.id) && !this.settled.has(order.id)) this.take(order);
  }

  private take(pending: PendingOrder): void {
    const { id } = pending;
    const order = readOrder(pending.body);
    if (order === null) {
      const message = "The leader does not know this kind of order: its version is another.";
      return this.answer(id, { kind: "refused", code: "INVALID_REQUEST", message });
    }
    const called = new AbortController();
    this.taken.set(id, called);
    // Whoever gives a lease back waits for it no more.
    if (order.kind === "give_back") {
      this.taken.get(order.leaseId)?.abort();
      this.settle(order.leaseId);
    }
    if (order.kind === "heartbeat" && order.registers) this.membersChanged();
    this.carryOut(pending, order, called.signal).catch((error: unknown) => {
      this.parts.trouble("cannot carry out what a worker asks", error);
      this.answer(id, { kind: "refused", code: "INTERNAL", message: "The leader failed; its log says why." });
    });
  }

  private async carryOut({ id, nodeId }: PendingOrder, order: WorkerOrder, signal: AbortSignal): Promise<void> {
    const { jobs } = this.parts;
    const answer = await carryOut(jobs, order, { id, signal, isLastResort: nodeId === this.parts.nodeId });
    if (answer.kind === "refused" && answer.code === "DRAINING") return this.settle(id); // The row is the next leader's.
    // Whatever is still in the book at a later look is tried again: by then its process may live, or this leader be sure of itself.
    if (signal.aborted || (answer.kind === "refused" && isPassing(answer.code))) this.taken.delete(id);
    else this.answer(id, answer);
  }

  private settle(id: string): void {
    this.taken.delete(id);
    this.settled.add(id);
    if (this.settled.size <= mostSettled) return;
    for (const oldest of this.settled) {
      this.settled.delete(oldest);
      return;
    }
  }

  private answer(id: string, answer: WorkerAnswer): void {
    this.settle(id);
    this.answers.push({ id, answer: answerJson(answer) });
    if (!this.isWriting) void this.write();
  }

  /** Those that come while some are written are the next. An answer is told until it is heard, also after the term. */
  private async write(): Promise<void> {
    const { book, clock, trouble } = this.parts;
    this.isWriting = true;
    for (let pauseMs = firstPauseMs; this.answers.length > 0; ) {
      const batch = this.answers;
      this.answers = [];
      try {
        await book.answer(batch);
        pauseMs = firstPauseMs;
      } catch (error) {
        this.answers = [...batch, ...this.answers];
        if (this.over.signal.aborted) break;
        if (pauseMs === firstPauseMs) trouble("cannot answer workers", error);
        await pause(clock, pauseMs, this.over.signal);
        pauseMs = Math.min(2 * pauseMs, longestPauseMs);
      }
    }
    this.isWriting = false;
  }

  private async giveBackForsaken(): Promise<void> {
    const { book, jobs, gaveBack } = this.parts;
    let forsaken: readonly ForsakenLease[] = [];
    const isPrompt = await this.heard(async (silenceMs) => {
      forsaken = await book.forsaken(silenceMs);
    });
    if (!isPrompt) {
      this.isForsakenDue = true;
      return;
    }
    for (const { agent, leaseId } of forsaken) {
      if (this.over.signal.aborted) return;
      const jobIds = await jobs.forsake(agent, leaseId);
      if (jobIds.length > 0) gaveBack(agent, jobIds.length);
    }
  }
}
