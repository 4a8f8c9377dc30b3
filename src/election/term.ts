import { NotLeaderError, StaleEpochError } from "../errors.js";
import type { FenceToken, Store } from "../store/contract.js";
import type { Gate } from "./gate.js";

/**
 * One stretch of leadership, as the work done under it sees it. It belongs to one epoch for good: after a loss and a
 * re-election there is a new term, and this one stays refused.
 */
export class LeaderTerm<Tx> {
  /** The role that is led. */
  readonly role: string;
  /** The fencing token (G2). */
  readonly epoch: bigint;
  /** Aborted when leadership ends or is being given up. */
  readonly signal: AbortSignal;
  private readonly gate: Gate;
  private readonly store: Store<Tx>;
  /** What every write of this term is stamped with. */
  readonly fence: FenceToken;
  private readonly track: (work: Promise<unknown>) => void;
  private readonly onRejected: () => void;

  constructor(options: {
    readonly fence: FenceToken;
    readonly signal: AbortSignal;
    readonly gate: Gate;
    readonly store: Store<Tx>;
    /** Work that a release has to wait for. */
    readonly track: (work: Promise<unknown>) => void;
    readonly onRejected: () => void;
  }) {
    this.role = options.fence.role;
    this.epoch = options.fence.epoch;
    this.signal = options.signal;
    this.gate = options.gate;
    this.store = options.store;
    this.fence = options.fence;
    this.track = options.track;
    this.onRejected = options.onRejected;
  }

  /** Throws unless this term may act at this very moment. */
  require(): void {
    this.gate.ensureEpoch(this.epoch);
  }

  /** Runs `fn` in a transaction that commits only while this epoch leads (G1); else StaleEpochError, and nothing is written. */
  async transaction<Result>(fn: (tx: Tx) => Promise<Result>): Promise<Result> {
    this.require();
    const run = this.store.transaction(this.fence, fn);
    this.track(run);
    try {
      return await run;
    } catch (error) {
      if (error instanceof StaleEpochError) this.onRejected();
      throw error;
    }
  }

  /** Asks the database whether this term still leads. Narrows the window before an outside effect; does not close it. */
  async verify(): Promise<void> {
    this.require();
    if (await this.store.verify(this.fence)) return;
    throw new NotLeaderError(`Epoch ${this.epoch} of role "${this.role}" no longer leads.`, {
      role: this.role,
      epoch: this.epoch,
    });
  }
}
