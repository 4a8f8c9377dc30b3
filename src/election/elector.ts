import type { CampaignSession, ElectionSessions, LockSession, WitnessSession } from "../store/contract.js";
import { type Clock, readClock } from "./clock.js";
import { step } from "./core/elector-core.js";
import { type ElectorSettings, type ElectorState, initialState, isEngaged } from "./core/elector-state.js";
import type { AcquireReply, Effect, Input, LinkName } from "./core/messages.js";
import type { Role } from "./core/names.js";

/** What the elector tells of: transitions for the roles, and what an operator wants to know. */
export interface ElectorEvents {
  elected(effect: Extract<Effect, { kind: "elected" }>): void;
  draining(effect: Extract<Effect, { kind: "draining" }>): void;
  ended(effect: Extract<Effect, { kind: "ended" }>): void;
  changed(effect: Extract<Effect, { kind: "changed" }>): void;
  evidenceRefused(effect: Extract<Effect, { kind: "evidenceRefused" }>): void;
  /** After every step, when gates may read differently. */
  stepped(state: ElectorState): void;
  linkOpened(link: LinkName, session: LockSession | WitnessSession | CampaignSession): void;
  linkFailed(link: LinkName, error: unknown): void;
  beaten(durationMs: number): void;
  requestFailed(what: string, error: unknown): void;
  acquireReplied(role: Role, reply: AcquireReply, durationMs: number): void;
  reaped(report: { ended: number; refused: number }): void;
}

type Session = LockSession | WitnessSession | CampaignSession;

/** A connection that the core asked for. Once it is closed, nothing that still arrives for it counts. */
interface Slot {
  session: Session | null;
  closed: boolean;
}

/**
 * The runtime's interpreter of the elector core: it feeds inputs in, one at a time, and carries effects out against a
 * store. It decides nothing. The state is replaced before its effects are carried out, so a gate is shut before the
 * socket behind it is destroyed (R5).
 */
export class Elector {
  private current: ElectorState;
  private readonly sessions: ElectionSessions;
  private readonly clock: Clock;
  private readonly random: () => number;
  private readonly events: ElectorEvents;
  private readonly slots = new Map<string, Slot>();
  private readonly inbox: Input[] = [];
  private readonly releases = new Set<Promise<void>>();
  private readonly afterStep: (() => void)[] = [];
  private cancelWake: () => void = () => undefined;
  private stepping = false;
  private stopped = false;

  constructor(options: {
    readonly sessions: ElectionSessions;
    readonly settings: ElectorSettings;
    readonly contending: boolean;
    readonly clock: Clock;
    readonly random: () => number;
    readonly events: ElectorEvents;
  }) {
    this.sessions = options.sessions;
    this.clock = options.clock;
    this.random = options.random;
    this.events = options.events;
    this.current = initialState(options.settings, options.contending);
  }

  get state(): ElectorState {
    return this.current;
  }

  /** Inputs that arise while effects are carried out wait their turn. */
  dispatch(input: Input): void {
    if (this.stopped) return;
    this.inbox.push(input);
    if (this.stepping) return;
    this.stepping = true;
    try {
      for (let next = this.inbox.shift(); next !== undefined; next = this.inbox.shift()) this.take(next);
    } finally {
      this.stepping = false;
    }
  }

  /** Ends every term, lets the releases under way reach the database, then ends every connection. */
  async stop(): Promise<void> {
    // A gate that was still open would stay so while an heir takes the end of its sessions for a crash.
    this.dispatch({ kind: "halt" });
    await Promise.all(this.releases);
    this.stopped = true;
    this.cancelWake();
    for (const slot of this.slots.values()) {
      slot.closed = true;
      slot.session?.close();
    }
    this.slots.clear();
  }

  /** Gives up every role. Resolves when none is held or asked for any more, or the node is a candidate again. */
  async standDown(drainMs: number): Promise<void> {
    this.dispatch({ kind: "candidacy", on: false, drainMs });
    while (!this.current.contending && [...this.current.roles.values()].some(isEngaged)) {
      await new Promise<void>((resolve) => this.afterStep.push(resolve));
    }
    await this.released();
  }

  /** Resolves when every release sent so far has been answered, or has failed. */
  async released(): Promise<void> {
    await Promise.all(this.releases);
  }

  private take(input: Input): void {
    const { state, effects } = step(this.current, input, readClock(this.clock), this.random);
    this.current = state;
    this.events.stepped(state);
    for (const effect of effects) this.carryOut(effect);
    for (const wake of this.afterStep.splice(0)) wake();
  }

  private carryOut(effect: Effect): void {
    switch (effect.kind) {
      case "open":
        return this.open(effect.link);
      case "close":
        return this.close(effect.link);
      case "beat":
        return this.beat(effect);
      case "pulse":
        return this.pulse(effect);
      case "wait":
        return this.wait(effect);
      case "acquire":
        return this.acquire(effect);
      case "release":
        return this.release(effect);
      case "reap":
        return this.reap(effect);
      case "elected":
        return this.events.elected(effect);
      case "draining":
        return this.events.draining(effect);
      case "ended":
        return this.events.ended(effect);
      case "changed":
        return this.events.changed(effect);
      case "evidenceRefused":
        return this.events.evidenceRefused(effect);
      case "wake":
        this.cancelWake();
        this.cancelWake = this.clock.wakeAt(effect.at, () => this.dispatch({ kind: "tick" }));
    }
  }

  private open(link: LinkName): void {
    const key = keyOf(link);
    const slot: Slot = { session: null, closed: false };
    this.slots.set(key, slot);
    const onClosed = (error: unknown): void => {
      if (slot.closed) return;
      slot.closed = true;
      if (this.slots.get(key) === slot) this.slots.delete(key);
      this.events.linkFailed(link, error);
      this.dispatch({ kind: "closed", link });
    };
    this.openSession(link, { closed: (reason) => onClosed(new Error(reason)) })
      .then((session) => {
        if (slot.closed) {
          session.close();
          return;
        }
        slot.session = session;
        this.events.linkOpened(link, session);
        this.dispatch({ kind: "opened", link, ref: session.ref, path: session.path });
      }, onClosed)
      .catch((error: unknown) => this.events.requestFailed("step", error));
  }

  private openSession(link: LinkName, events: { closed(reason: string): void }): Promise<Session> {
    switch (link.kind) {
      case "lock":
        return this.sessions.openLock(events);
      case "witness":
        return this.sessions.openWitness({
          ...events,
          notice: (role, notice) => this.dispatch({ kind: "noticed", role, notice }),
        });
      case "campaign":
        return this.sessions.openCampaign(link.role, events);
    }
  }

  private close(link: LinkName): void {
    const key = keyOf(link);
    const slot = this.slots.get(key);
    if (slot === undefined) return;
    this.slots.delete(key);
    slot.closed = true;
    slot.session?.close();
  }

  private lockSession(): LockSession | null {
    return (this.slots.get("lock")?.session ?? null) as LockSession | null;
  }

  private campaign(role: Role): CampaignSession | null {
    return (this.slots.get(`campaign ${role}`)?.session ?? null) as CampaignSession | null;
  }

  private beat({ id, orders, sessions }: Extract<Effect, { kind: "beat" }>): void {
    const link = { kind: "lock" } as const;
    const sentAt = this.clock.mono();
    this.lockSession()
      ?.beat(orders, sessions)
      .then((reply) => {
        this.events.beaten(this.clock.mono() - sentAt);
        this.dispatch({ kind: "beatReplied", id, reply });
      })
      .catch((error: unknown) => this.fail("beat", link, id, error));
  }

  private pulse({ id }: Extract<Effect, { kind: "pulse" }>): void {
    this.lockSession()
      ?.pulse()
      .then(() => this.dispatch({ kind: "pulseReplied", id }))
      .catch((error: unknown) => this.fail("pulse", { kind: "lock" }, id, error));
  }

  private wait({ role, id, prior, sliceMs }: Extract<Effect, { kind: "wait" }>): void {
    this.campaign(role)
      ?.wait(prior, sliceMs)
      .then((reply) => this.dispatch({ kind: "waitReplied", role, id, reply }))
      .catch((error: unknown) => this.fail("wait", { kind: "campaign", role }, id, error));
  }

  private acquire({ role, id, timeoutMs, ...wishes }: Extract<Effect, { kind: "acquire" }>): void {
    const { holder } = this.current.settings;
    const sentAt = this.clock.mono();
    const request = {
      holder,
      terms: wishes.terms,
      sessions: wishes.sessions,
      acquireDelayMs: wishes.acquireDelayMs,
      evidence: wishes.evidence,
    };
    this.campaign(role)
      ?.acquire(request, timeoutMs)
      .then((reply) => {
        this.events.acquireReplied(role, reply, this.clock.mono() - sentAt);
        this.dispatch({ kind: "acquireReplied", role, id, reply });
      })
      .catch((error: unknown) => this.fail("acquire", { kind: "campaign", role }, id, error));
  }

  private release(effect: Extract<Effect, { kind: "release" }>): void {
    const sent = this.lockSession()?.release(effect);
    if (sent === undefined) return;
    // A release that is lost is made up for: the next beat shows the lease, and it is given back again.
    const settled = sent
      .catch((error: unknown) => this.events.requestFailed("release", error))
      .finally(() => this.releases.delete(settled));
    this.releases.add(settled);
  }

  private reap({ id, roles }: Extract<Effect, { kind: "reap" }>): void {
    const witness = (this.slots.get("witness")?.session ?? null) as WitnessSession | null;
    witness
      ?.reap(roles, this.current.settings.timing.nodeTimeoutMs)
      .then((report) => {
        this.events.reaped(report);
        this.dispatch({ kind: "reapReplied", id });
      })
      .catch((error: unknown) => this.fail("reap", { kind: "witness" }, id, error));
  }

  private fail(what: string, link: LinkName, id: number, error: unknown): void {
    this.events.requestFailed(what, error);
    this.dispatch({ kind: "failed", link, id });
  }
}

function keyOf(link: LinkName): string {
  return link.kind === "campaign" ? `campaign ${link.role}` : link.kind;
}
