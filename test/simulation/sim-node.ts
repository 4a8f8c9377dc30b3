import { type Step, step } from "../../src/election/core/elector-core.js";
import { type ElectorState, graceMs, initialState, type SessionPath } from "../../src/election/core/elector-state.js";
import { gateIsOpen } from "../../src/election/core/leading.js";
import type { Holder } from "../../src/election/core/lease.js";
import type { Input, LinkName, Notice } from "../../src/election/core/messages.js";
import type { Epoch, Incarnation, Role } from "../../src/election/core/names.js";
import { NodeClock } from "./clocks.js";
import { Connection, type Surroundings } from "./connection.js";
import { type Actor, carryOut } from "./effects.js";
import type { Hooks } from "./hooks.js";
import type { NodePlan, Scenario } from "./scenario.js";
import { TermLedger } from "./term-ledger.js";
import { Violation } from "./violation.js";
import { Work, type WorkHabits, type Workplace } from "./work.js";

/** What a node's process does. Paused and suspended code does not run; a blocked loop runs code, but takes nothing in. */
export type Mode = "running" | "blocked" | "paused" | "suspended" | "dead";

/** What else a node tells and asks of the simulation. */
export interface NodeObserver {
  readonly habits: WorkHabits;
  /** A process runs on after a stop: whatever it does first, it does before it has taken anything in. */
  resumed(): void;
  committed(role: Role, epoch: Epoch): void;
  /** A transition is made known to the other nodes, after its commit. */
  announced(role: Role, notice: Notice): void;
}

const mostIdleTicks = 10;

interface Delivery {
  readonly input: Input;
  readonly from: Connection | null;
}

const linkKey = (link: LinkName): string => (link.kind === "campaign" ? `campaign/${link.role}` : link.kind);

/**
 * One node: the elector's state, its clocks, its connections and the work of its terms. It carries out the elector's
 * effects against the simulated server, as the runtime does against PostgreSQL, and decides nothing itself.
 */
export class SimNode implements Actor, Workplace {
  readonly index: number;
  readonly plan: NodePlan;
  readonly clock: NodeClock;
  readonly around: Surroundings;
  readonly observer: NodeObserver;
  readonly cut = { up: false, down: false };
  readonly lagMs = { up: 0, down: 0 };
  readonly keepAliveMs: number;
  readonly connectTimeoutMs: number;
  readonly drainTimeoutMs: number;
  readonly links = new Map<string, Connection>();
  /** All of them, those that were given up included: the server may not know yet. */
  readonly connections: Connection[] = [];
  readonly works = new Map<Role, Work>();
  ledger: TermLedger;
  incarnation: Incarnation;
  state: ElectorState;
  mode: Mode = "dead";
  path: SessionPath;
  contending = true;
  /** Tells one stop of the process from the next. */
  stops = 0;
  /** For the bound on what an idle node costs. */
  steps = 0;
  beats = 0;
  private idle = { since: 0, ticks: 0 };
  private lives = 0;
  private wakeOrder = 0;
  private readonly inbox: Delivery[] = [];
  private readonly stopped: (() => void)[] = [];
  private readonly scenario: Scenario;
  private readonly hooks: Hooks;

  constructor(index: number, scenario: Scenario, around: Surroundings, observer: NodeObserver, hooks: Hooks) {
    this.index = index;
    this.plan = scenario.nodes[index]!;
    this.scenario = scenario;
    this.around = around;
    this.observer = observer;
    this.hooks = hooks;
    this.clock = new NodeClock(around.world.random, scenario.isTight);
    const { timing } = this.plan;
    this.keepAliveMs = timing.fenceMs * 1.03 + 60;
    this.connectTimeoutMs = timing.requestTimeoutMs;
    this.drainTimeoutMs = timing.drainTimeoutMs;
    this.path = this.plan.path;
    this.incarnation = this.nextIncarnation();
    this.state = this.freshState();
    this.ledger = new TermLedger(this.index);
  }

  private nextIncarnation(): Incarnation {
    this.lives += 1;
    return `${this.plan.id}/${this.lives}` as Incarnation;
  }

  get holder(): Holder {
    return this.state.settings.holder;
  }

  private freshState(): ElectorState {
    const { plan, incarnation } = this;
    const holder = { nodeId: plan.id, incarnation, url: null };
    return initialState(
      { holder, timing: plan.timing, terms: plan.terms, promotable: plan.promotable },
      this.contending,
    );
  }

  start(): void {
    if (this.mode !== "dead") return;
    this.mode = "running";
    this.state = this.freshState();
    for (const role of this.scenario.roles) this.receive({ kind: "contend", role }, null);
  }

  /** SIGKILL. */
  crash(): void {
    if (this.mode === "dead") return;
    this.mode = "dead";
    this.clock.resume(this.around.world.now);
    for (const connection of this.links.values()) connection.die();
    this.links.clear();
    this.works.clear();
    this.inbox.length = 0;
    this.stopped.length = 0;
    this.wakeOrder += 1;
    this.incarnation = this.nextIncarnation();
    this.state = this.freshState();
    this.ledger = new TermLedger(this.index);
  }

  stop(mode: "blocked" | "paused" | "suspended"): boolean {
    if (this.mode !== "running") return false;
    this.mode = mode;
    this.stops += 1;
    if (mode === "suspended") this.clock.suspend(this.around.world.now);
    return true;
  }

  resume(): void {
    if (this.mode === "running" || this.mode === "dead") return;
    const { world, coverage } = this.around;
    this.clock.resume(world.now);
    this.mode = "running";
    world.trace.note(world.now, this.index, "resumes", null);
    this.observer.resumed();
    if (this.works.size > 0) coverage.count("act", "first thing after a resume");
    for (const work of this.works.values()) work.act();
    const timersFirst = world.random.chance(0.5);
    if (timersFirst) this.take({ kind: "tick" });
    for (const act of this.stopped.splice(0)) act();
    for (let next = this.inbox.shift(); next !== undefined && this.isRunning(); next = this.inbox.shift()) {
      this.sort(next);
    }
    if (!timersFirst) this.take({ kind: "tick" });
  }

  receive(input: Input, from: Connection | null): void {
    if (this.mode === "dead" || (from !== null && from.incarnation !== this.incarnation)) return;
    const delivery = { input, from };
    if (this.mode === "running") this.sort(delivery);
    else this.inbox.push(delivery);
  }

  /** The runtime's part of the bargain: a connection that was given up neither opens nor ends any more. */
  private sort({ input, from }: Delivery): void {
    if (from !== null && this.links.get(linkKey(from.link)) !== from) {
      if (!from.leaksReplies || input.kind === "opened" || input.kind === "closed") return;
    }
    if (from !== null && input.kind === "closed") {
      from.close();
      this.links.delete(linkKey(from.link));
    }
    this.take(input);
  }

  private take(original: Input): void {
    const { world } = this.around;
    const input = this.hooks.rewriteInput?.(original, this.state) ?? original;
    const now = this.clock.read(world.now);
    const before = this.state;
    let result: Step;
    try {
      result = step(before, input, now, world.random.unit);
    } catch (error) {
      throw new Violation("crash", `node ${this.index} at ${input.kind}: ${String(error)}`);
    }
    result = this.hooks.afterStep?.(result, { input, before, now }) ?? result;
    this.state = result.state;
    this.steps += 1;
    this.checkIdling(input, result);
    world.trace.note(world.now, this.index, input.kind, input);
    this.ledger.follow(result.effects, input);
    for (const effect of result.effects) carryOut(this, effect);
    this.ledger.agree(this.state);
  }

  /** A timer that fires for nothing is nothing; a row of them is a busy loop. */
  private checkIdling(input: Input, { effects }: Step): void {
    const { now } = this.around.world;
    if (input.kind !== "tick" || effects.some((effect) => effect.kind !== "wake")) this.idle = { since: now, ticks: 0 };
    this.idle.ticks += 1;
    if (this.idle.ticks > mostIdleTicks && now - this.idle.since < mostIdleTicks * 5) {
      throw new Violation("livelock", `node ${this.index} woke ${mostIdleTicks} times in a row for nothing`);
    }
  }

  wakeAt(mono: number): void {
    const { world } = this.around;
    const order = ++this.wakeOrder;
    // Timers are late, never early.
    const time = this.clock.timeOf(mono) + world.random.unit();
    world.at(time, () => {
      if (order === this.wakeOrder && this.mode === "running") this.take({ kind: "tick" });
    });
  }

  connect(link: LinkName): void {
    const connection = new Connection(this.around, this, link);
    this.links.set(linkKey(link), connection);
    this.connections.push(connection);
    connection.open();
  }

  disconnect(link: LinkName): void {
    this.links.get(linkKey(link))?.close();
    this.links.delete(linkKey(link));
  }

  startWork(role: Role, epoch: Epoch): void {
    const work = new Work(this.around, this, role, epoch, this.observer.habits);
    this.works.set(role, work);
    work.start();
  }

  isRunning(): boolean {
    return this.mode === "running" || this.mode === "blocked";
  }

  whenRunning(act: () => void): void {
    if (this.mode === "running") act();
    else if (this.mode !== "dead") this.stopped.push(act);
  }

  settled(work: Work): void {
    this.works.delete(work.role);
    this.receive({ kind: "workSettled", role: work.role, epoch: work.epoch }, null);
  }

  failed(work: Work): void {
    this.receive({ kind: "workFailed", role: work.role, epoch: work.epoch }, null);
  }

  committed(role: Role, epoch: Epoch): void {
    this.observer.committed(role, epoch);
  }

  announce(role: Role, notice: Notice): void {
    this.observer.announced(role, notice);
  }

  /** The gate as the application calls it: at this very moment, by this node's own clocks. */
  gateIsOpen(role: Role, epoch: Epoch | null): boolean {
    const term = this.state.roles.get(role)?.term;
    if (term === null || term === undefined || (epoch !== null && term.epoch !== epoch)) return false;
    const { now } = this.around.world;
    const grace = graceMs(this.state);
    if (this.hooks.gate !== undefined) return this.hooks.gate(term, grace, this.clock.read(now));
    return gateIsOpen(term, grace, this.clock.mono(now), this.clock.wall(now), () => this.clock.boot(now));
  }
}
