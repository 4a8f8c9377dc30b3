import { randomUUID } from "node:crypto";
import type { Clock } from "../election/clock.js";
import type { LeaseAnswer, LeaseOrder } from "../store/job-orders.js";
import { assign, type Candidate, compareLoads, kindOf, type Load } from "./core/assignment.js";
import { type Demand, suits } from "./core/job.js";

/** What an agent asks for. */
export interface LeaseWish {
  readonly agent: string;
  readonly namespace: string;
  readonly capabilities: readonly string[];
  readonly maxTasks: number;
  /** Chosen by whoever may have to ask again, of another leader: then it is answered with what it has already. */
  readonly leaseId?: string | undefined;
  readonly load?: Load | undefined;
}

/** So many are looked after at a time: when all agents are woken at once, the others come with the next transaction. */
const mostAtOnce = 256;
/** And no more than may have so many tasks together: an answer has to fit into memory. */
const mostTasks = 1_024;
const mostRemembered = 10_000;
/** For so many of the jobs that come in together it is looked at once who waits for them; for the others afterwards. */
const mostMatched = 256;

/** An agent that waits for work. */
export class LeasePoll {
  /** What the database is asked for now: no more than its share of the jobs that have come. */
  order: LeaseOrder;
  readonly load: Load;
  private readonly wanted: LeaseOrder;
  private readonly signal: AbortSignal;
  private readonly settle: {
    readonly resolve: (answer: LeaseAnswer) => void;
    readonly reject: (error: unknown) => void;
  };
  private readonly left: (poll: LeasePoll) => void;
  private readonly takeBack: () => void;
  /** The database is being asked for it, and may answer with work: until then nobody else may answer. */
  private isUnderWay = false;
  private wasAsked = false;
  private isImpatient = false;
  /** Its agent asks for the same lease again: whatever comes is that one's, and nothing is taken back. */
  private isRepeated = false;
  /** Why nobody is served any more; what is on its way is still handed over. */
  private closed: Error | null = null;

  constructor(options: {
    readonly order: LeaseOrder;
    readonly load: Load;
    readonly clock: Clock;
    readonly waitMs: number;
    readonly signal: AbortSignal;
    readonly settle: LeasePoll["settle"];
    /** It waits no more. */
    readonly left: (poll: LeasePoll) => void;
  }) {
    const { order, clock, waitMs, signal } = options;
    this.order = order;
    this.wanted = order;
    this.load = options.load;
    this.signal = signal;
    this.settle = options.settle;
    this.left = options.left;
    const giveUp = (): void => this.giveUp();
    const cancelTimer = clock.wakeAt(clock.mono() + waitMs, giveUp);
    signal.addEventListener("abort", giveUp, { once: true });
    this.takeBack = () => {
      cancelTimer();
      signal.removeEventListener("abort", giveUp);
    };
  }

  /** The database is being asked for it, and nothing else is: one lease has one answer. */
  get isAsked(): boolean {
    return this.isUnderWay;
  }

  /** Its agent waits with another poll for the same lease. */
  get hasGivenWay(): boolean {
    return this.isRepeated;
  }

  /** Nobody hears the answer any more. */
  get isGone(): boolean {
    return this.signal.aborted;
  }

  get candidate(): Candidate {
    const { agent, namespace, capabilities, maxTasks } = this.wanted;
    return { agent, namespace, capabilities, room: maxTasks, load: this.load };
  }

  /** `share`: how many of the jobs that have come are meant for it; null where it may have whatever there is. */
  asked(share: number | null): void {
    this.order = share === null ? this.wanted : { ...this.wanted, maxTasks: share };
    this.isUnderWay = true;
    this.wasAsked = true;
  }

  /** It was looked before, for the same agent, and nothing has come since. */
  knownToFindNothing(): void {
    this.wasAsked = true;
  }

  /** False where work came and nobody is there to take it. */
  answered(answer: LeaseAnswer): boolean {
    this.isUnderWay = false;
    if (this.isRepeated) return this.giveWay();
    if (answer.kind === "none" && this.closed !== null) {
      this.refuse(this.closed);
      return true;
    }
    if (answer.kind === "none" && !this.isImpatient && !this.isGone) return true;
    const { isGone } = this;
    this.leave();
    this.settle.resolve(answer);
    return answer.kind !== "leased" || !isGone;
  }

  /** The agent asks again for the same lease, over another connection: it does not hear this one. */
  repeated(): void {
    this.isRepeated = true;
    if (!this.isUnderWay) this.giveWay();
  }

  private giveWay(): true {
    this.leave();
    this.settle.resolve({ kind: "none" });
    return true;
  }

  refuse(error: unknown): void {
    this.leave();
    this.settle.reject(error);
  }

  /** Nothing is asked for it any more. An answer that is on its way is waited for: it may bring work that is leased by then. */
  close(reason: Error): void {
    if (this.isUnderWay) this.closed = reason;
    else this.refuse(reason);
  }

  /** Its time is over, or its connection. Whoever does not want to wait still wants to know: one look is taken. */
  private giveUp(): void {
    this.isImpatient = true;
    if (!this.isUnderWay && (this.wasAsked || this.isGone)) this.answered({ kind: "none" });
  }

  private leave(): void {
    this.takeBack();
    this.left(this);
  }
}

/** Agents that wait for work, in memory: as long as nothing changes for them, they cost the database nothing. */
export class LeasePolls {
  private readonly clock: Clock;
  private readonly ttlMs: number;
  /** Something may be there for them. */
  private readonly restless = new Set<LeasePoll>();
  private readonly resting = new Set<LeasePoll>();
  /** By namespace: for whom there was nothing when it was last looked. Forgotten as soon as something comes. */
  private readonly nothingFor = new Map<string, Set<string>>();
  private readonly byLease = new Map<string, LeasePoll>();
  /** The last leases that work was given under: an agent that did not hear of it asks again. */
  private readonly given = new Set<string>();

  constructor(clock: Clock, ttlMs: number) {
    this.clock = clock;
    this.ttlMs = ttlMs;
  }

  get size(): number {
    return this.restless.size + this.resting.size;
  }

  /** Resolves with work, or with none after so long, or when the signal is aborted. Asked once at least. */
  add(wish: LeaseWish, waitMs: number, signal: AbortSignal): Promise<LeaseAnswer> {
    if (signal.aborted) return Promise.resolve({ kind: "none" });
    const { agent, namespace, capabilities, maxTasks, leaseId = randomUUID() } = wish;
    // Of whom nothing more is known: he has room for so many.
    const { load = { running: 0, places: maxTasks } } = wish;
    this.giveWayTo(leaseId, agent);
    return new Promise((resolve, reject) => {
      const poll = new LeasePoll({
        order: { kind: "lease", leaseId, ttlMs: this.ttlMs, agent, namespace, capabilities, maxTasks },
        load,
        clock: this.clock,
        waitMs,
        signal,
        settle: { resolve, reject },
        left: (gone) => {
          this.restless.delete(gone);
          this.resting.delete(gone);
          if (this.byLease.get(gone.order.leaseId) === gone) this.byLease.delete(gone.order.leaseId);
        },
      });
      this.byLease.set(leaseId, poll);
      if (!this.given.has(leaseId) && this.nothingFor.get(wish.namespace)?.has(whoOf(wish)) === true) {
        poll.knownToFindNothing();
        this.resting.add(poll);
      } else {
        this.restless.add(poll);
      }
    });
  }

  /** Whoever asks for a lease again may have it already: it is looked for once more, and the old connection is left alone. */
  private giveWayTo(leaseId: string, agent: string): void {
    const before = this.byLease.get(leaseId);
    if (before === undefined || before.order.agent !== agent) return;
    this.remember(leaseId);
    before.repeated();
  }

  private remember(leaseId: string): void {
    this.given.add(leaseId);
    if (this.given.size <= mostRemembered) return;
    for (const oldest of this.given) {
      this.given.delete(oldest);
      return;
    }
  }

  /** False where work came and nobody is there to take it. */
  answered(poll: LeasePoll, answer: LeaseAnswer): boolean {
    const { order } = poll;
    if (answer.kind === "leased") this.remember(order.leaseId);
    // Where something came free meanwhile, it is among the restless, and has to be looked after again.
    if (answer.kind === "none" && this.resting.has(poll)) {
      const known = this.nothingFor.get(order.namespace) ?? new Set<string>();
      this.nothingFor.set(order.namespace, known.add(whoOf(order)));
    }
    if (answer.kind === "leased" && poll.hasGivenWay) return this.handOver(poll, answer);
    return poll.answered(answer);
  }

  /** Its agent has asked again meanwhile, and may have been told that there is nothing: it is looked once more, or given back. */
  private handOver(poll: LeasePoll, answer: LeaseAnswer): boolean {
    const again = this.byLease.get(poll.order.leaseId);
    poll.answered(answer);
    if (again === undefined || again === poll) return false;
    this.resting.delete(again);
    this.restless.add(again);
    return true;
  }

  /** Something came free, and it is not known for whom. */
  stir(): void {
    this.nothingFor.clear();
    for (const poll of this.resting) this.restless.add(poll);
    this.resting.clear();
  }

  /** These jobs are ready, and whoever was asked for them took others: each that they suit is looked after again. */
  stirFor(demands: readonly Demand[]): void {
    for (const { namespace } of demands) this.nothingFor.delete(namespace);
    const kinds = new Map(demands.map((demand) => [kindOf(demand), demand]));
    for (const poll of this.resting) {
      if (![...kinds.values()].some((demand) => suits(demand, poll.order))) continue;
      this.resting.delete(poll);
      this.restless.add(poll);
    }
  }

  /** Those to look after now: the restless, the least loaded first, and one for each of these jobs. */
  next(demands: readonly Demand[]): readonly LeasePoll[] {
    for (const { namespace } of demands) this.nothingFor.delete(namespace);
    const taken = new Map<LeasePoll, number | null>();
    const restless = [...this.restless].filter(({ isAsked }) => !isAsked);
    let tasks = 0;
    for (const poll of byLoad(restless).slice(0, mostAtOnce)) {
      tasks += poll.candidate.room;
      if (taken.size > 0 && tasks > mostTasks) break;
      taken.set(poll, null);
    }
    const waiting = demands.length === 0 ? [] : [...this.resting].filter(({ isAsked }) => !isAsked);
    const candidates = waiting.map(({ candidate }) => candidate);
    for (const [place, share] of assign(demands.slice(0, mostMatched), candidates)) {
      const poll = waiting[place];
      if (poll !== undefined) taken.set(poll, share);
    }
    for (const [poll, share] of taken) {
      this.restless.delete(poll);
      this.resting.add(poll);
      poll.asked(share);
    }
    return [...taken.keys()];
  }

  /** Nobody is served any more. */
  close(reason: Error): void {
    for (const poll of [...this.restless, ...this.resting]) poll.close(reason);
  }
}

function byLoad(polls: readonly LeasePoll[]): readonly LeasePoll[] {
  return polls.toSorted((one, other) => compareLoads(one.load, other.load));
}

/** Jobs may be pinned to an agent, or ask for what it can do. */
function whoOf({ agent, capabilities }: Pick<LeaseWish, "agent" | "capabilities">): string {
  return JSON.stringify([agent, capabilities]);
}
