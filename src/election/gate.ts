import { NotLeaderError } from "../errors.js";
import type { Clock } from "./clock.js";
import { type ElectorState, graceMs, type Term } from "./core/elector-state.js";
import { gateIsOpen } from "./core/leading.js";
import type { Epoch, NodeId, Role } from "./core/names.js";

/** What a holder of the gate passes along with an outside effect. */
export interface LeaderToken {
  readonly epoch: bigint;
  readonly holder: string;
}

/**
 * G3: the question "may I act, now?", answered synchronously and from memory, by comparing clocks with the deadline of the
 * last confirmed renewal at this very call.
 *
 * It is no promise about the next moment: an outside system that ignores the epoch may still see an effect that left in
 * time and arrived late. Pass the token along, and write through `term.transaction`.
 */
export class Gate {
  private readonly role: Role;
  private readonly nodeId: NodeId;
  private readonly clock: Clock;
  private readonly onBlocked: () => void;
  private term: Term | null = null;
  private grace = 0;
  /** Kept after the end: a guard that held null would let everything pass. */
  private lastEpoch: Epoch | null = null;
  private readonly whileShut = new WeakSet<NotLeaderError>();

  constructor(options: {
    readonly role: Role;
    readonly nodeId: NodeId;
    readonly clock: Clock;
    readonly onBlocked: () => void;
  }) {
    this.role = options.role;
    this.nodeId = options.nodeId;
    this.clock = options.clock;
    this.onBlocked = options.onBlocked;
  }

  /** Takes in the elector's state after a step. Not for users. @internal */
  follow(state: ElectorState): void {
    this.term = state.roles.get(this.role)?.term ?? null;
    this.grace = graceMs(state);
    if (this.term !== null) this.lastEpoch = this.term.epoch;
  }

  /** True while new work may be admitted under this node's leadership. */
  get isLeader(): boolean {
    const { term } = this;
    return term !== null && term.phase === "leading" && this.trusts(term);
  }

  /** True while work that has begun may go on: also while the role is being given up. */
  get isActing(): boolean {
    return this.term !== null && this.trusts(this.term);
  }

  /** The token for work that begins now. */
  requireLeader(): LeaderToken {
    const { term } = this;
    if (term === null || term.phase !== "leading" || !this.trusts(term)) throw this.refuse();
    return { epoch: term.epoch, holder: this.nodeId };
  }

  /** Call it with the token of that very piece of work, right before its outside effect. Also passes while draining. */
  ensureEpoch(epoch: bigint): void {
    const { term } = this;
    if (term === null || term.epoch !== epoch || !this.trusts(term)) throw this.refuse(epoch);
  }

  /** Once for each refusal: whether the gate was shut when it was given. It may have opened again since. @internal */
  excuses(refusal: NotLeaderError): boolean {
    return this.whileShut.delete(refusal);
  }

  private trusts(term: Term): boolean {
    return gateIsOpen(term, this.grace, this.clock.mono(), this.clock.wall(), this.clock.boot);
  }

  private refuse(epoch?: bigint): NotLeaderError {
    this.onBlocked();
    const wanted = epoch === undefined ? "" : ` under epoch ${epoch}`;
    const message = `Node "${this.nodeId}" does not lead role "${this.role}"${wanted} now.`;
    const { role, nodeId, lastEpoch } = this;
    const refusal = new NotLeaderError(message, { role, nodeId, lastEpoch });
    if (!this.isActing) this.whileShut.add(refusal);
    return refusal;
  }
}
