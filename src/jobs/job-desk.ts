import type { Clock } from "../election/clock.js";
import { DrainingError, isFailure, NotLeaderError } from "../errors.js";
import { Signal } from "../lifecycle/signal.js";
import type { FenceToken } from "../store/contract.js";
import type { JobBook } from "../store/job-contract.js";
import type { JobAnswer, JobOrder, LeaseAnswer } from "../store/job-orders.js";
import { type AnswerTo, freesJobs, isReadySubmission, type JobCall, leftOver } from "./job-call.js";
import { inDoubt, JobWriter } from "./job-writer.js";
import type { LeasePoll } from "./lease-poll.js";
import { LeasePolls, type LeaseWish } from "./lease-polls.js";

export interface JobDeskParts {
  readonly book: JobBook;
  readonly fence: FenceToken;
  readonly clock: Clock;
  /** How long an agent may be silent before its tasks are given to another. */
  readonly leaseTtlMs: number;
  readonly trouble: (what: string, error: unknown) => void;
  /** Something was committed: whoever follows the events may look. */
  readonly committed: () => void;
}

/** One transaction carries out so many orders, however many callers they come from. */
const mostOrders = 1_000;
/** So many that wait are worth a transaction of their own while another is under way: it is there when that one has committed. */
const enoughOrders = 256;
const mostUnderWay = 2;
const gatherBeatsMs = 1_000;
const lookAnywayMs = 60_000;
/** What the database refuses to ripen does not hold up everything else. */
const ripenAgainMs = 5_000;

/** What a leader that drains still takes: it ends what was begun, and begins nothing. */
const endings: ReadonlySet<JobOrder["kind"]> = new Set(["result", "renew", "give_back"]);

/**
 * Where the orders of all callers come together during one term, and are carried out by one transaction after another. What
 * comes in while one commits is the next; where that is much, it is sent before it, so that the database need not wait for it.
 * Nobody knows which of two that are under way comes first, and nobody can: those who asked have no answer yet. An agent that
 * waits is served by the transaction that takes its job in.
 */
export class JobDesk {
  private readonly parts: JobDeskParts;
  private readonly polls: LeasePolls;
  private readonly writer: JobWriter;
  private readonly changed: Signal;
  private pending: JobCall[] = [];
  private pendingOrders = 0;
  private beats: JobCall[] = [];
  private underWay = 0;
  /** Two have been under way together since none was. */
  private isCrossing = false;
  private dueAt: number | null = 0;
  /** Not before, since the database refused it. */
  private ripenAt = Number.NEGATIVE_INFINITY;
  private lookedAt: number;
  private draining = false;
  private isGathering = false;
  private failed: { readonly error: unknown } | null = null;
  private ended: Error | null = null;

  constructor(parts: JobDeskParts) {
    this.parts = parts;
    this.polls = new LeasePolls(parts.clock, parts.leaseTtlMs);
    this.changed = new Signal(parts.clock);
    this.lookedAt = parts.clock.mono();
    this.writer = new JobWriter({ ...parts, isDueIn: (ms) => this.isDueIn(ms) });
  }

  /** How many agents wait for work. */
  get waiting(): number {
    return this.polls.size;
  }

  private checkNotEnded(): void {
    if (this.ended !== null) throw this.ended;
  }

  /** Whether orders are under way, or wait for their turn. */
  get isBusy(): boolean {
    return this.underWay > 0 || this.pending.length > 0;
  }

  /** Resolves when the order is committed, with its answer. */
  async carryOut<Order extends JobOrder>(order: Order): Promise<AnswerTo<Order>> {
    const [answer] = await this.carryOutAll([order]);
    return answer as AnswerTo<Order>;
  }

  /** Resolves when all of them are committed, by one transaction or several. */
  async carryOutAll<Order extends JobOrder>(orders: readonly Order[]): Promise<readonly AnswerTo<Order>[]> {
    this.checkNotEnded();
    if (this.draining && !orders.every(({ kind }) => endings.has(kind))) throw new DrainingError();
    if (orders.length === 0) return [];
    return (await new Promise<readonly JobAnswer[]>((resolve, reject) => {
      const call = { orders, resolve, reject };
      if (orders.every((order) => order.kind === "heartbeat" && !order.registers)) return this.gather(call);
      this.takeBeats();
      this.add(call);
      this.changed.notify();
    })) as readonly AnswerTo<Order>[];
  }

  private add(call: JobCall): void {
    this.pending.push(call);
    this.pendingOrders += call.orders.length;
  }

  /**
   * Nobody waits for a beat: those of many agents go together, and a thousand of them cost as much as one. They also go with
   * whatever comes before their time, but not by themselves when a transaction ends: a slow one would make the next, and so on.
   */
  private gather(call: JobCall): void {
    this.beats.push(call);
    if (this.isGathering) return;
    this.isGathering = true;
    const { clock } = this.parts;
    clock.wakeAt(clock.mono() + gatherBeatsMs, () => {
      this.isGathering = false;
      this.takeBeats();
      this.changed.notify();
    });
  }

  private takeBeats(): void {
    for (const beat of this.beats) this.add(beat);
    this.beats = [];
  }

  /** Waits for work: so long at most, and no longer than somebody hears it. */
  async lease(wish: LeaseWish, waitMs: number, signal: AbortSignal): Promise<LeaseAnswer> {
    this.checkNotEnded();
    if (this.draining) throw new DrainingError();
    const polled = this.polls.add(wish, waitMs, signal);
    this.changed.notify();
    return await polled;
  }

  /** Jobs were submitted by another way than this desk: whoever waits may have one. */
  stir(): void {
    this.polls.stir();
    this.changed.notify();
  }

  /** Begins nothing any more: no work is handed out, and none is taken in. */
  drain(): void {
    this.draining = true;
    this.polls.close(new DrainingError());
  }

  end(reason: Error): void {
    this.ended = reason;
    this.writer.end(reason);
    this.polls.close(reason);
    for (const { reject } of [...this.pending, ...this.beats]) reject(reason);
    this.pending = [];
    this.beats = [];
    this.pendingOrders = 0;
    this.changed.notify();
  }

  /** Runs until it is ended, or until the database refuses this term. */
  async run(): Promise<void> {
    try {
      while (this.ended === null) {
        await this.ripenWhatIsDue();
        this.checkNotFailed();
        this.lookAnyway();
        if (!this.beginNext()) await this.changed.wait(this.untilDue());
      }
    } catch (error) {
      this.end(this.toldOf(error));
      throw error;
    } finally {
      // Nothing is written any more when this is over.
      while (this.underWay > 0) await this.changed.wait();
    }
    this.checkNotFailed();
  }

  /** The epoch was ours and not the caller's: nothing that he knows is stale, he only has to ask another. */
  private toldOf(error: unknown): Error {
    if (isFailure(error, "STALE_EPOCH")) return deposed(this.parts.fence);
    return error instanceof Error ? error : new Error(String(error));
  }

  /** Whoever waits is told of each job that comes free. Should one be missed, nobody would look for it any more. */
  private lookAnyway(): void {
    const now = this.parts.clock.mono();
    if (now - this.lookedAt < lookAnywayMs) return;
    this.lookedAt = now;
    this.polls.stir();
  }

  private checkNotFailed(): void {
    if (this.failed !== null) throw this.failed.error;
  }

  private untilDue(): number {
    const lookAt = this.lookedAt + lookAnywayMs;
    const ripenAt = this.dueAt === null ? lookAt : Math.max(this.dueAt, this.ripenAt);
    return Math.max(0, Math.min(ripenAt, lookAt) - this.parts.clock.mono());
  }

  /** Of answers that cross, nobody knows which is later. The sooner is safe: where it is wrong, a look in vain puts it right. */
  private isDueIn(ms: number | null): void {
    const at = ms === null ? null : this.parts.clock.mono() + ms;
    if (!this.isCrossing || this.dueAt === null) this.dueAt = at;
    else if (at !== null) this.dueAt = Math.min(at, this.dueAt);
  }

  private begins(): void {
    this.underWay += 1;
    if (this.underWay > 1) this.isCrossing = true;
  }

  private isOver(): void {
    this.underWay -= 1;
    if (this.underWay === 0) this.isCrossing = false;
  }

  /** False where there is nothing to do, or not enough for one more at a time. */
  private beginNext(): boolean {
    if (this.underWay > 0 && (this.underWay >= mostUnderWay || this.pendingOrders < enoughOrders)) return false;
    const taken = this.take();
    const polls = this.draining ? [] : this.polls.next(taken.flatMap(({ orders }) => orders.filter(isReadySubmission)));
    if (taken.length === 0 && polls.length === 0) return false;
    const calls = [...taken, ...polls.map((poll) => this.callOf(poll))];
    this.begins();
    this.carriedOut(calls)
      .catch((error: unknown) => {
        this.failed ??= { error };
      })
      .finally(() => {
        this.isOver();
        this.changed.notify();
      });
    return true;
  }

  /** As many as one transaction takes; a call is never divided. */
  private take(): readonly JobCall[] {
    let calls = 0;
    let orders = 0;
    for (const call of this.pending) {
      if (calls > 0 && orders + call.orders.length > mostOrders) break;
      calls += 1;
      orders += call.orders.length;
    }
    this.pendingOrders -= orders;
    return this.pending.splice(0, calls);
  }

  private async carriedOut(calls: readonly JobCall[]): Promise<void> {
    const orders = calls.flatMap((call) => call.orders);
    try {
      const answers = await this.writer.commit(calls, orders);
      this.parts.committed();
      this.polls.stirFor(leftOver(orders, answers, this.parts.clock.wall()));
    } catch (error) {
      const { told, ending } = inDoubt(error);
      for (const { reject } of calls) reject(told ?? this.toldOf(ending));
      throw ending;
    }
    if (orders.some(freesJobs)) this.polls.stir();
  }

  /** A call as good as any. What comes for an agent that has gone is given back, and cost no attempt. */
  private callOf(poll: LeasePoll): JobCall {
    const { agent, leaseId } = poll.order;
    return {
      orders: [poll.order],
      resolve: ([answer]) => {
        if (this.polls.answered(poll, answer as LeaseAnswer)) return;
        const order = { kind: "give_back", agent, leaseId, jobIds: null } as const;
        this.add({ orders: [order], resolve: () => undefined, reject: () => undefined });
      },
      reject: (error) => poll.refuse(error),
    };
  }

  private async ripenWhatIsDue(): Promise<void> {
    if (this.dueAt === null || Math.max(this.dueAt, this.ripenAt) > this.parts.clock.mono()) return;
    // From here on others say what is due next.
    this.dueAt = null;
    this.begins();
    try {
      const { ripened, lost, mayBeMore } = await this.writer.ripen();
      if (ripened + lost.length === 0 && !mayBeMore) return;
      this.parts.committed();
      this.polls.stir();
    } catch (error) {
      const { told, ending } = inDoubt(error);
      if (!isFailure(ending, "DATABASE_REFUSED")) throw ending;
      this.parts.trouble("what is due could not be handed out, and is tried again", ending);
      this.dueAt = 0;
      this.ripenAt = this.parts.clock.mono() + ripenAgainMs;
      if (told !== null) this.polls.stir();
    } finally {
      this.isOver();
    }
  }
}

function deposed({ role, epoch }: FenceToken): NotLeaderError {
  return new NotLeaderError(`Epoch ${epoch} of role "${role}" is over.`, { role });
}
