import { randomUUID } from "node:crypto";
import type { Clock } from "../election/clock.js";
import type { LeaseAnswer } from "../store/job-orders.js";
import { assign, compareLoads, kindOf, type Load } from "./core/assignment.js";
import { type Demand, suits } from "./core/job.js";
import { LeasePoll } from "./lease-poll.js";

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
    if (answer.kind === "leased" && poll.hasGivenWay) this.lookAgainFor(order.leaseId);
    return poll.answered(answer);
  }

  /** Its agent has asked again meanwhile, and may have found nothing, in a transaction that came before. */
  private lookAgainFor(leaseId: string): void {
    const again = this.byLease.get(leaseId);
    if (again !== undefined && this.resting.delete(again)) this.restless.add(again);
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
