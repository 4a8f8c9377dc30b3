import type { Clock } from "../election/clock.js";
import type { LeaseAnswer, LeaseOrder } from "../store/job-orders.js";
import type { Candidate, Load } from "./core/assignment.js";

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
