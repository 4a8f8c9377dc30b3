import { EventEmitter, once } from "node:events";
import type { Clock } from "../election/clock.js";
import type { Gate } from "../election/gate.js";
import type { LeaderTerm } from "../election/term.js";
import { HoldfastError, isFailure, NotLeaderError, StaleEpochError } from "../errors.js";
import { aborted } from "../lifecycle/aborted.js";
import { pause } from "../lifecycle/pause.js";
import type { JobBook } from "../store/job-contract.js";
import type {
  CancellationAnswer,
  HeartbeatAnswer,
  LeaseAnswer,
  RedriveAnswer,
  RemovalAnswer,
  RenewalAnswer,
  ResultAnswer,
  SubmissionAnswer,
} from "../store/job-orders.js";
import type { Job, Json } from "./core/job.js";
import { mostCrashes } from "./core/job-rules.js";
import { EventFeed } from "./event-feed.js";
import { asMade } from "./job-call.js";
import { JobDesk } from "./job-desk.js";
import type { JobSettings } from "./job-settings.js";
import { finishedJob } from "./job-wait.js";
import { LeaseHolders } from "./lease-holders.js";
import type { LeaseWish } from "./lease-polls.js";
import { checkJson, type NewJob, submissionOf } from "./new-job.js";
import { type ReportedResult, resultOrder } from "./reported-result.js";

export type { LeaseAnswer, ResultAnswer, SubmissionAnswer } from "../store/job-orders.js";

type JobsTerm = Pick<LeaderTerm<unknown>, "fence" | "signal">;

interface JobsRole {
  readonly gate: Pick<Gate, "requireLeader" | "ensureEpoch">;
  lead(fn: (term: JobsTerm) => Promise<void>): unknown;
}

/** What the jobs room is made of. */
export interface JobsParts {
  readonly book: JobBook;
  readonly settings: JobSettings;
  readonly clock: Clock;
  readonly random: () => number;
  /** From the first call on, the node contends for it. */
  readonly role: () => JobsRole;
  readonly counts: JobCounts;
  readonly trouble: (what: string, error: unknown) => void;
}

/** Where the room counts what it does. */
export interface JobCounts {
  submitted(jobs: number): void;
  staleResults(results: number): void;
}

/** Somebody in this process who goes by whether this node leads the jobs. */
export interface JobsFollower {
  began(): void;
  ended(): void;
  /** It still reports, or gives back, what it has: a leader that goes waits for it a little longer. */
  isLettingGo(): boolean;
}

/** Whose leader is the only one to change jobs. */
export const jobsRole = "scheduler";

/** How often a leader that gives its role up looks whether somebody still works for it. */
const drainLookMs = 50;
/** For how much longer than anybody else this process itself may take to let go of its jobs. */
const lettingGoMs = 3_000;

/**
 * Jobs, their leases and results. Reads are anybody's (`book`, `wait`, `events`); what changes them is the leader's, and throws
 * NotLeaderError elsewhere. `leaderEpoch` is a condition that a caller may state: where another one leads, StaleEpochError.
 */
export class Jobs {
  /** What there is of jobs and agents, on any node. */
  readonly book: JobBook;
  /** What happens to jobs and agents, as it is committed; on any node. */
  readonly events: EventFeed;
  readonly settings: JobSettings;
  private readonly parts: JobsParts;
  private readonly holders = new LeaseHolders();
  private role: JobsRole | null = null;
  private follower: JobsFollower | null = null;
  private desk: { readonly desk: JobDesk; readonly epoch: bigint } | null = null;
  private readonly openings = new EventEmitter<{ opened: [] }>().setMaxListeners(0);

  constructor(parts: JobsParts) {
    this.parts = parts;
    this.settings = parts.settings;
    this.book = parts.book;
    this.events = new EventFeed(parts);
  }

  /** From here on this node contends for the jobs' role, and does its work where it leads. Twice is once. */
  open(): this {
    if (this.role !== null) return this;
    this.role = this.parts.role();
    this.role.lead(async (term) => await this.lead(term));
    return this;
  }

  /** Whether this node works on the jobs now. */
  get isOpen(): boolean {
    return this.desk !== null;
  }

  /** Resolves when this node leads and takes jobs in; on a standby that may be much later, or never. */
  async opened(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    options.signal?.throwIfAborted();
    if (this.isOpen) return;
    try {
      await once(this.openings, "opened", options);
    } catch (error) {
      options.signal?.throwIfAborted(); // With the reason of whoever aborted it, as above.
      throw error;
    }
  }

  /** One at the most. @internal */
  follow(follower: JobsFollower): void {
    this.follower = follower;
  }

  /** How many agents wait here for work. @internal */
  get waitingAgents(): number {
    return this.desk?.desk.waiting ?? 0;
  }

  /** A cron has submitted jobs: whoever waits here for one, or for events, looks again. @internal */
  stir(): void {
    this.desk?.desk.stir();
    this.events.wake();
  }

  /** The epoch under which this node changes jobs; else NotLeaderError. @internal */
  requireEpoch(stated?: bigint): bigint {
    return this.leading(stated).epoch;
  }

  /** The job when it is finished, or as it is after so long; null where there is none. On any node. */
  async wait(jobId: string, waitMs: number, signal: AbortSignal): Promise<Job | null> {
    const { book, events: feed } = this;
    return await finishedJob(jobId, waitMs, signal, { book, feed, clock: this.parts.clock });
  }

  /** Takes jobs in; an answer each, in the same order. */
  async submit(jobs: readonly NewJob[], leaderEpoch?: bigint): Promise<readonly SubmissionAnswer[]> {
    const { desk } = this.leading(leaderEpoch);
    const now = this.parts.clock.wall();
    const submissions = jobs.map((job) => submissionOf(job, this.settings, now));
    const answers = (await desk.carryOutAll(submissions)).map((answer, index) => asMade(submissions[index], answer));
    this.parts.counts.submitted(answers.filter(({ kind }) => kind === "created").length);
    return answers;
  }

  /** Who was given this lease, as far as this node remembers: null where it was long ago, or another leader. @internal */
  holderOf(leaseId: string): string | null {
    return this.holders.of(leaseId);
  }

  /** Waits for work, `waitMs` at most; the signal says that nobody hears the answer any more. */
  async lease(wish: LeaseWish, waitMs: number, signal: AbortSignal, leaderEpoch?: bigint): Promise<LeaseAnswer> {
    const { desk } = this.leading(leaderEpoch);
    const answer = await desk.lease(wish, waitMs, signal);
    if (answer.kind === "leased") this.holders.remember(answer.leaseId, wish.agent);
    return answer;
  }

  /** An agent still works on its lease: it lasts for another `leaseTtlMs`. Answers with the jobs that are still its. */
  async renew(
    agent: string,
    leaseId: string,
    progress: readonly { readonly jobId: string; readonly progress: Json }[],
    leaderEpoch?: bigint,
  ): Promise<RenewalAnswer> {
    const { desk } = this.leading(leaderEpoch);
    for (const one of progress) checkJson("progress", one.progress);
    return await desk.carryOut({ kind: "renew", agent, leaseId, ttlMs: this.settings.leaseTtlMs, progress });
  }

  /** Results of an agent, with an answer each; one that comes twice is accepted once. */
  async report(results: readonly ReportedResult[], leaderEpoch?: bigint): Promise<readonly ResultAnswer[]> {
    const { desk } = this.leading(leaderEpoch);
    const orders = results.map((result) => resultOrder(result, this.settings, this.parts.random));
    const answers = await desk.carryOutAll(orders);
    this.parts.counts.staleResults(answers.filter(({ kind }) => kind === "stale").length);
    return answers;
  }

  /** Jobs that an agent will not finish: they are ready for others, and it cost no attempt. */
  async giveBack(agent: string, leaseId: string | null, jobIds: readonly string[] | null): Promise<readonly string[]> {
    const { desk } = this.leading();
    return (await desk.carryOut({ kind: "give_back", agent, leaseId, jobIds })).jobIds;
  }

  /** The process that had these is gone: they go to others, unless too many went in a row that worked on them. @internal */
  async forsake(agent: string, leaseId: string): Promise<readonly string[]> {
    const { desk } = this.leading();
    return (await desk.carryOut({ kind: "give_back", agent, leaseId, jobIds: null, mostCrashes })).jobIds;
  }

  /** A result that comes later changes nothing. */
  async cancel(jobId: string): Promise<CancellationAnswer> {
    return await this.leading().desk.carryOut({ kind: "cancel", jobId });
  }

  /** Queues a job again that is dead, failed or cancelled. */
  async redrive(jobId: string): Promise<RedriveAnswer> {
    return await this.leading().desk.carryOut({ kind: "redrive", jobId });
  }

  /** An agent lives, and says what it can and does. */
  async heartbeat(beat: {
    readonly agent: string;
    readonly namespace: string;
    readonly capabilities: readonly string[];
    readonly version: string | null;
    readonly tasks: number;
    readonly registers: boolean;
  }): Promise<HeartbeatAnswer> {
    return await this.leading().desk.carryOut({ kind: "heartbeat", ...beat });
  }

  /** Leaves a tombstone, and gives what the agent has to others. */
  async removeAgent(agent: string): Promise<RemovalAnswer> {
    const { desk } = this.leading();
    const [removed] = await Promise.all([
      desk.carryOut({ kind: "remove_agent", agent }),
      desk.carryOut({ kind: "give_back", agent, leaseId: null, jobIds: null }),
    ]);
    return removed;
  }

  private leading(stated?: bigint): { readonly desk: JobDesk; readonly epoch: bigint } {
    const { desk: leading, role } = this;
    if (role === null) {
      const way = "call createJobs of holdfast/jobs in it, or ask another node";
      throw new HoldfastError("REFUSED", `The process of this node has not opened the jobs: ${way}.`);
    }
    if (leading === null) {
      role.gate.requireLeader();
      throw new NotLeaderError("The jobs are being opened by their new leader: try again.", { role: jobsRole });
    }
    // Also passes while the role is being given up: the desk knows what it still takes.
    role.gate.ensureEpoch(leading.epoch);
    if (stated !== undefined && stated !== leading.epoch) {
      throw new StaleEpochError(`Epoch ${stated} does not lead: ${leading.epoch} does.`, {
        details: { field: "leader_epoch", expected: Number(leading.epoch), got: Number(stated) },
      });
    }
    return leading;
  }

  private async lead(term: JobsTerm): Promise<void> {
    const { book, settings, events } = this;
    const { clock, trouble } = this.parts;
    const { fence } = term;
    const committed = (): void => events.wake();
    const desk = new JobDesk({ book, fence, clock, leaseTtlMs: settings.leaseTtlMs, trouble, committed });
    const leading = { desk, epoch: fence.epoch };
    this.desk = leading;
    const ended = new NotLeaderError(`This node does not lead role "${jobsRole}" any more.`, { role: jobsRole });
    const running = desk.run();
    this.follower?.began();
    this.openings.emit("opened");
    try {
      await Promise.race([running, this.drained(desk, term.signal)]);
    } finally {
      if (this.desk === leading) this.desk = null;
      desk.end(ended);
      this.follower?.ended();
      await Promise.allSettled([running]); // Nothing is written any more when the role is given up.
    }
  }

  /** Resolves some time after the signal: until then results are taken, while anybody works for this leader. */
  private async drained(desk: JobDesk, signal: AbortSignal): Promise<void> {
    await aborted(signal);
    desk.drain();
    const { clock } = this.parts;
    const until = clock.mono() + this.settings.drainGraceMs;
    const isWanted = async (): Promise<boolean> => {
      if (clock.mono() >= until) return this.follower?.isLettingGo() === true && clock.mono() < until + lettingGoMs;
      return desk.isBusy || (await this.isAnythingLeased());
    };
    while (await isWanted()) await pause(clock, drainLookMs);
  }

  private async isAnythingLeased(): Promise<boolean> {
    try {
      return (await this.book.standing()).counts.leased > 0;
    } catch (error) {
      if (isFailure(error, "DATABASE_AWAY")) return false; // Then no result can be taken either.
      throw error;
    }
  }
}
