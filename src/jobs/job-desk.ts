import type { Clock } from "../election/clock.js";
import { DrainingError, type ErrorCode, HoldfastError, invariant, NotLeaderError } from "../errors.js";
import { pause } from "../lifecycle/pause.js";
import { Signal } from "../lifecycle/signal.js";
import type { FenceToken } from "../store/contract.js";
import type { JobBook } from "../store/job-contract.js";
import type {
  CancellationAnswer,
  GiveBackAnswer,
  HeartbeatAnswer,
  JobAnswer,
  JobOrder,
  LeaseAnswer,
  RedriveAnswer,
  RemovalAnswer,
  RenewalAnswer,
  ResultAnswer,
  Submission,
  SubmissionAnswer,
} from "../store/job-orders.js";
import { type LeasePoll, LeasePolls, type LeaseWish } from "./lease-polls.js";

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

interface Pending {
  readonly order: JobOrder;
  readonly resolve: (answer: JobAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** One transaction carries out so many orders, however many callers they come from. */
const mostOrders = 1_000;
const mostRipened = 1_000;
const firstPauseMs = 10;
const gatherBeatsMs = 1_000;
const longestPauseMs = 2_000;

/** What a leader that drains still takes: it ends what was begun, and begins nothing. */
const endings: ReadonlySet<JobOrder["kind"]> = new Set(["result", "renew", "give_back"]);

/**
 * Where the orders of all callers come together during one term, and are carried out by one transaction after another. What
 * comes in while one commits is the next. An agent that waits is served by the transaction that takes its job in.
 */
export class JobDesk {
  private readonly parts: JobDeskParts;
  private readonly polls: LeasePolls;
  private readonly changed: Signal;
  private pending: Pending[] = [];
  private dueAt: number | null = 0;
  private draining = false;
  private isCommitting = false;
  private isGathering = false;
  private ended: Error | null = null;
  private readonly over = new AbortController();

  constructor(parts: JobDeskParts) {
    this.parts = parts;
    this.polls = new LeasePolls(parts.clock, parts.leaseTtlMs);
    this.changed = new Signal(parts.clock);
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
    return this.isCommitting || this.pending.length > 0;
  }

  /** Resolves when the order is committed, with its answer. */
  async carryOut<Order extends JobOrder>(order: Order): Promise<AnswerTo<Order>> {
    this.checkNotEnded();
    if (this.draining && !endings.has(order.kind)) throw new DrainingError();
    return (await new Promise<JobAnswer>((resolve, reject) => {
      this.pending.push({ order, resolve, reject });
      if (order.kind === "heartbeat" && !order.registers) this.notifySoon();
      else this.changed.notify();
    })) as AnswerTo<Order>;
  }

  /** Nobody waits for a beat: those of many agents go together, and a thousand of them cost as much as one. */
  private notifySoon(): void {
    if (this.isGathering) return;
    this.isGathering = true;
    const { clock } = this.parts;
    clock.wakeAt(clock.mono() + gatherBeatsMs, () => {
      this.isGathering = false;
      this.changed.notify();
    });
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
    this.over.abort();
    this.polls.close(reason);
    for (const { reject } of this.pending) reject(reason);
    this.pending = [];
    this.changed.notify();
  }

  /** Runs until it is ended, or until the database refuses this term. */
  async run(): Promise<void> {
    while (this.ended === null) {
      await this.ripenWhatIsDue();
      if (!(await this.carryOutNext())) await this.changed.wait(this.untilDue());
    }
  }

  private untilDue(): number | null {
    return this.dueAt === null ? null : Math.max(0, this.dueAt - this.parts.clock.mono());
  }

  private isDueIn(ms: number | null): void {
    this.dueAt = ms === null ? null : this.parts.clock.mono() + ms;
  }

  /** False where there was nothing to do. */
  private async carryOutNext(): Promise<boolean> {
    const taken = this.pending.slice(0, mostOrders);
    this.pending = this.pending.slice(mostOrders);
    const polls = this.draining ? [] : this.polls.next(taken.flatMap(({ order }) => readyDemand(order)));
    if (taken.length === 0 && polls.length === 0) return false;
    const orders = [...taken, ...polls.map((poll) => this.pendingOf(poll))];
    const { fence } = this.parts;
    this.isCommitting = true;
    try {
      const answers = await this.commit(orders);
      this.parts.committed();
      this.polls.stirFor(leftOver(orders, answers));
    } catch (error) {
      // The epoch was ours and not the caller's: nothing that he knows is stale, he only has to ask another.
      const told = isFailure(error, "STALE_EPOCH") ? deposed(fence) : error;
      for (const { reject } of orders) reject(told);
      throw error;
    } finally {
      this.isCommitting = false;
    }
    if (taken.some(({ order }) => freesJobs(order))) this.polls.stir();
    return true;
  }

  /** An order as good as any. What comes for an agent that has gone is given back, and cost no attempt. */
  private pendingOf(poll: LeasePoll): Pending {
    const { agent, leaseId } = poll.order;
    return {
      order: poll.order,
      resolve: (answer) => {
        if (this.polls.answered(poll, answer as LeaseAnswer)) return;
        const order = { kind: "give_back", agent, leaseId, jobIds: null } as const;
        this.pending.push({ order, resolve: () => undefined, reject: () => undefined });
      },
      reject: (error) => poll.refuse(error),
    };
  }

  /** Orders that the database refuses as a whole are carried out one by one: only the culprit is refused, and has no answer. */
  private async commit(pending: readonly Pending[]): Promise<readonly (JobAnswer | null)[]> {
    const { book, fence } = this.parts;
    const orders = pending.map(({ order }) => order);
    try {
      const { answers, nextDueMs } = await this.known(async () => await book.apply(fence, orders));
      invariant(answers.length === pending.length, "every order has an answer");
      this.isDueIn(nextDueMs);
      for (const [index, { resolve }] of pending.entries()) resolve(answers[index] as JobAnswer);
      return answers;
    } catch (error) {
      if (!isFailure(error, "DATABASE_REFUSED")) throw error;
      if (pending.length === 1) {
        for (const { reject } of pending) reject(error);
        return [null];
      }
      const answers: (JobAnswer | null)[] = [];
      for (const one of pending) answers.push(...(await this.commit([one])));
      return answers;
    }
  }

  private async ripenWhatIsDue(): Promise<void> {
    const { book, fence, clock } = this.parts;
    if (this.dueAt === null || this.dueAt > clock.mono()) return;
    const { ripened, lost, nextDueMs } = await this.known(async () => await book.ripen(fence, mostRipened));
    this.isDueIn(nextDueMs);
    if (ripened + lost.length === 0) return;
    this.parts.committed();
    this.polls.stir();
  }

  /** What is not known to have been done is asked for again as it was: nothing of it is done twice. */
  private async known<Result>(ask: () => Promise<Result>): Promise<Result> {
    const { clock, trouble } = this.parts;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      try {
        return await ask();
      } catch (error) {
        if (!isFailure(error, "UNKNOWN_OUTCOME") && !isFailure(error, "DATABASE_AWAY")) throw error;
        this.checkNotEnded();
        if (pauseMs === firstPauseMs) trouble("jobs could not be written, and are tried again", error);
        await pause(clock, pauseMs, this.over.signal);
        this.checkNotEnded();
      }
    }
  }
}

interface AnswersByKind {
  readonly submit: SubmissionAnswer;
  readonly lease: LeaseAnswer;
  readonly renew: RenewalAnswer;
  readonly result: ResultAnswer;
  readonly give_back: GiveBackAnswer;
  readonly cancel: CancellationAnswer;
  readonly redrive: RedriveAnswer;
  readonly heartbeat: HeartbeatAnswer;
  readonly remove_agent: RemovalAnswer;
}

type AnswerTo<Order extends JobOrder> = AnswersByKind[Order["kind"]];

function readyDemand(order: JobOrder): readonly Submission[] {
  return order.kind === "submit" && order.runAt === null ? [order] : [];
}

/** The jobs that came in with these orders and that nobody has taken yet. */
function leftOver(pending: readonly Pending[], answers: readonly (JobAnswer | null)[]): readonly Submission[] {
  const taken = answers.flatMap((answer) => (answer?.kind === "leased" ? answer.tasks.map(({ jobId }) => jobId) : []));
  const gone = new Set(taken);
  return pending.flatMap(({ order }, index) =>
    answers[index]?.kind === "created" ? readyDemand(order).filter(({ jobId }) => !gone.has(jobId)) : [],
  );
}

/** Whether jobs may be ready afterwards for whoever they suit. */
function freesJobs({ kind }: JobOrder): boolean {
  return kind === "give_back" || kind === "redrive" || kind === "remove_agent";
}

function deposed({ role, epoch }: FenceToken): NotLeaderError {
  return new NotLeaderError(`Epoch ${epoch} of role "${role}" is over.`, { role });
}

function isFailure(error: unknown, code: ErrorCode): boolean {
  return error instanceof HoldfastError && error.code === code;
}
