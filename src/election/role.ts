import { EventEmitter } from "node:events";
import { HoldfastError, NotLeaderError } from "../errors.js";
import type { Store } from "../store/contract.js";
import type { Clock } from "./clock.js";
import { type ElectorState, leaseRemainingMs } from "./core/elector-state.js";
import type { Holder, LeaseView } from "./core/lease.js";
import type { Effect } from "./core/messages.js";
import type { Epoch, NodeId, Role } from "./core/names.js";
import type { Elector } from "./elector.js";
import { Gate } from "./gate.js";
import { LeaderWork } from "./leader-work.js";
import { ledUntilStopped } from "./led-until-stopped.js";
import { LeaderTerm } from "./term.js";

/** The leader of a role as this node last saw it. */
export interface LeaderView {
  readonly nodeId: string;
  readonly url: string | null;
  readonly epoch: bigint;
  readonly acquiredAt: Date;
  readonly leaseUntil: Date;
}

/** What is told when a role changes hands. */
export interface RoleEvent {
  readonly role: string;
  readonly epoch: bigint;
  readonly leaderId: string | null;
  readonly reason: string;
}

/** What a node does while it leads a role; it ends when `term.signal` is aborted. */
export type LeadFunction<Tx> = (term: LeaderTerm<Tx>) => Promise<void> | void;

export interface RoleObserver {
  elected(role: Role, epoch: Epoch, cause: string, gapMs: number): void;
  lost(role: Role, epoch: Epoch, reason: string): void;
  gateBlocked(role: Role): void;
  fenceRejected(role: Role): void;
  workFailed(role: Role, epoch: Epoch, error: unknown): void;
}

/** One role, seen from this node: who leads it, and what to do when it is this node. */
export class RoleHandle<Tx> extends EventEmitter<{ elected: [RoleEvent]; lost: [RoleEvent]; changed: [RoleEvent] }> {
  /** The name of the role. */
  readonly name: Role;
  /** Whether this node may act for the role, now. */
  readonly gate: Gate;
  private readonly elector: Elector;
  private readonly store: Store<Tx>;
  private readonly holder: Holder;
  private readonly observer: RoleObserver;
  private readonly clock: Clock;
  private readonly alsoEnded: () => Promise<void>;
  private readonly leads: LeadFunction<Tx>[] = [];
  private readonly moments = new EventEmitter<{ ended: [Epoch, string]; stepped: [] }>();
  private term: LeaderTerm<Tx> | null = null;
  private work: LeaderWork | null = null;

  constructor(options: {
    readonly name: Role;
    readonly elector: Elector;
    readonly store: Store<Tx>;
    readonly holder: Holder;
    readonly clock: Clock;
    readonly observer: RoleObserver;
    /** What a release has to wait for beside the role's own work: that of a node which drains. */
    readonly alsoEnded: () => Promise<void>;
  }) {
    super();
    this.name = options.name;
    this.elector = options.elector;
    this.store = options.store;
    this.holder = options.holder;
    this.observer = options.observer;
    this.clock = options.clock;
    this.alsoEnded = options.alsoEnded;
    this.gate = new Gate({
      role: options.name,
      nodeId: options.holder.nodeId,
      clock: options.clock,
      onBlocked: () => options.observer.gateBlocked(options.name),
    });
  }

  /** Runs `fn` at every election of this node. A throw gives the role up, with a cool-down (R10). */
  lead(fn: LeadFunction<Tx>): this {
    this.leads.push(fn);
    if (this.term !== null && this.work !== null && !this.work.signal.aborted) this.run(fn, this.term, this.work);
    return this;
  }

  /** The leader as last seen, from memory; null while there is none, as far as this node knows. */
  leader(): LeaderView | null {
    const role = this.elector.state.roles.get(this.name);
    const view = role?.view ?? null;
    if (role === undefined || view === null || view.holder === null) return null;
    // The lease names this node, which does not lead: it has given the role up since, or was another process then.
    if (view.holder === this.holder.nodeId && role.term === null) return null;
    // Asked for with each request: only the clock that is needed is read, since that of the boot is a file.
    if (leaseRemainingMs(role, { mono: this.clock.mono() }) <= 0) return null;
    return {
      nodeId: view.holder,
      url: view.holderUrl,
      epoch: view.epoch,
      acquiredAt: new Date(view.acquiredAt),
      leaseUntil: new Date(view.expiresAt),
    };
  }

  /** Hands the role over: to the heir, or to the node that is named. Resolves when the lease has been given up. */
  async stepDown(options: { readonly to?: string | undefined } = {}): Promise<void> {
    const { term } = this;
    if (term === null) {
      throw new NotLeaderError(
        `Node "${this.holder.nodeId}" does not lead role "${this.name}", so it cannot step down.`,
      );
    }
    const to = options.to === undefined ? null : await this.checkSuccessor(options.to);
    if (to !== null && this.elector.state.roles.get(this.name)?.term?.phase === "draining") {
      throw new HoldfastError("REFUSED", `Node "${this.holder.nodeId}" gives up role "${this.name}" already.`);
    }
    if (this.term !== term)
      throw new NotLeaderError(`Node "${this.holder.nodeId}" lost role "${this.name}" before it could step down.`);
    const ended = this.ending(term.epoch as Epoch);
    const { ttlMs } = this.elector.state.settings.timing;
    this.elector.dispatch({ kind: "stepDown", role: this.name, to, reason: "stepped_down", yieldMs: ttlMs });
    const reason = await ended;
    await this.elector.released();
    if (reason === "drain_overrun") {
      throw new HoldfastError(
        "DRAINING",
        `The work of role "${this.name}" did not stop within the drain timeout, so its lease has to run out by itself.`,
      );
    }
  }

  private async checkSuccessor(to: string): Promise<NodeId> {
    if (to === this.holder.nodeId) {
      throw new HoldfastError("BAD_SETTINGS", `Node "${to}" leads role "${this.name}" already; name another node.`);
    }
    const nodes = await this.store.registry.nodes();
    const successor = nodes.find((node) => node.nodeId === to);
    const { nodeTimeoutMs } = this.elector.state.settings.timing;
    if (successor === undefined || successor.status !== "active" || successor.heartbeatAgeMs > nodeTimeoutMs) {
      const state =
        successor === undefined ? "is not known here" : `is ${successor.status}, or has not been heard of lately`;
      throw new HoldfastError("BAD_SETTINGS", `Node "${to}" cannot take over role "${this.name}": it ${state}.`);
    }
    if (!successor.contends.includes(this.name)) {
      throw new HoldfastError(
        "BAD_SETTINGS",
        `Node "${to}" cannot take over role "${this.name}": it does not contend for it.`,
      );
    }
    return successor.nodeId;
  }

  /** Resolves with the reason when this term, which is the current one, has ended. */
  private ending(epoch: Epoch): Promise<string> {
    return new Promise((resolve) => {
      const onEnded = (ended: Epoch, reason: string): void => {
        if (ended !== epoch) return;
        this.moments.off("ended", onEnded);
        resolve(reason);
      };
      this.moments.on("ended", onEnded);
    });
  }

  /** Below: what the elector reports. Not for users. @internal */
  onStepped(state: ElectorState): void {
    this.gate.follow(state);
    this.moments.emit("stepped");
  }

  onElected({ epoch, cause, gapMs }: Extract<Effect, { kind: "elected" }>): void {
    const work = new LeaderWork();
    const fence = { role: this.name, epoch, holder: this.holder };
    const term = new LeaderTerm<Tx>({
      fence,
      signal: work.signal,
      gate: this.gate,
      store: this.store,
      track: (running) => work.track(running),
      onRejected: () => this.observer.fenceRejected(this.name),
    });
    this.work = work;
    this.term = term;
    this.observer.elected(this.name, epoch, cause, gapMs);
    this.tell("elected", { role: this.name, epoch, leaderId: this.holder.nodeId, reason: cause });
    for (const fn of this.leads) this.run(fn, term, work);
  }

  onDraining({ epoch, reason }: Extract<Effect, { kind: "draining" }>): void {
    this.stopWork(epoch, reason);
  }

  onEnded({ epoch, reason }: Extract<Effect, { kind: "ended" }>): void {
    this.stopWork(epoch, reason);
    this.term = null;
    this.observer.lost(this.name, epoch, reason);
    this.tell("lost", { role: this.name, epoch, leaderId: null, reason });
    this.moments.emit("ended", epoch, reason);
  }

  onChanged(view: LeaseView): void {
    this.tell("changed", {
      role: this.name,
      epoch: view.epoch,
      leaderId: view.holder,
      reason: view.holder === null ? "vacant" : "elected",
    });
  }

  /** After the elector's step is over: what a listener throws is its owner's, and must not stop an election. */
  private tell(name: "elected" | "lost" | "changed", event: RoleEvent): void {
    queueMicrotask(() => this.emit(name, event));
  }

  private run(fn: LeadFunction<Tx>, term: LeaderTerm<Tx>, work: LeaderWork): void {
    const epoch = term.epoch as Epoch;
    const { signal } = work;
    const done = ledUntilStopped(() => fn(term), {
      signal,
      gate: this.gate,
      gateOpened: () => this.gateOpened(signal),
      failed: (error) => {
        this.observer.workFailed(this.name, epoch, error);
        this.elector.dispatch({ kind: "workFailed", role: this.name, epoch });
      },
    });
    work.track(done);
  }

  /** Resolves when the gate is open, or there is nothing left to wait for. */
  private async gateOpened(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.gate.isLeader) {
      await new Promise<void>((resolve) => this.moments.once("stepped", resolve));
    }
  }

  private stopWork(epoch: Epoch, reason: string): void {
    const { work } = this;
    if (work === null || work.signal.aborted) return;
    const ended = new NotLeaderError(`Leadership of role "${this.name}" under epoch ${epoch} ended: ${reason}.`, {
      reason,
    });
    work
      .stop(ended)
      .then(() => this.alsoEnded())
      .then(() => this.elector.dispatch({ kind: "workSettled", role: this.name, epoch }))
      .catch((error: unknown) => this.observer.workFailed(this.name, epoch, error));
  }
}
