import { HoldfastError, NotLeaderError, StaleEpochError } from "../../../src/errors.js";
import type { Message } from "../../../src/queue/message.js";
import { Queue, type QueueNode } from "../../../src/queue/queue.js";
import { Random } from "../random.js";
import { Trace } from "../trace.js";
import { CallAudit } from "./call-audit.js";
import { Callers } from "./callers.js";
import { CommitAudit } from "./commit-audit.js";
import type { Coverage } from "./coverage.js";
import { type Call, type CallObserver, Deliveries } from "./deliveries.js";
import { History } from "./history.js";
import type { QueueHooks } from "./hooks.js";
import { Leadership, type LeadershipObserver } from "./leadership.js";
import { Plans } from "./plans.js";
import { SimProcess } from "./process.js";
import { chooseScenario, type Scenario, type ThemeName } from "./scenario.js";
import { QueueServer } from "./server.js";
import type { SimTerm } from "./term.js";
import { type QueueRule, QueueViolation } from "./violation.js";
import { VirtualTime } from "./virtual-time.js";
import { Wire } from "./wire.js";

export interface SimulationOptions {
  readonly seed: number;
  readonly coverage: Coverage;
  readonly hooks: QueueHooks;
  readonly theme: ThemeName | null;
  readonly keepsText: boolean;
}

/** A process with its queue. */
export interface Program {
  readonly process: SimProcess;
  readonly queue: Queue;
}

/** Everything of one run, put together from its seed. */
export class Simulation implements CallObserver {
  readonly random: Random;
  readonly time: VirtualTime;
  readonly trace: Trace;
  readonly scenario: Scenario;
  readonly coverage: Coverage;
  readonly server: QueueServer;
  readonly wire: Wire;
  readonly leadership: Leadership;
  readonly plans: Plans;
  readonly history: History;
  readonly calls: CallAudit;
  readonly callers: Callers;
  programs: readonly Program[] = [];
  /** How often each message has felled its process. */
  readonly felledBy = new Map<string, number>();
  violation: QueueViolation | null = null;
  private readonly terms = new Map<bigint, SimTerm>();

  constructor({ seed, coverage, hooks, theme, keepsText }: SimulationOptions) {
    this.random = new Random(seed);
    this.time = new VirtualTime(this.random);
    this.trace = new Trace(keepsText);
    this.coverage = coverage;
    this.scenario = chooseScenario(this.random, theme);
    const { time, random, trace, scenario, violate } = this;
    const stages = scenario.options.stages ?? [];
    this.server = new QueueServer(time, coverage, hooks);
    this.wire = new Wire(
      { time, random, trace, coverage, server: this.server, hooks },
      {
        claimed: (request, messages) => this.calls.claimed(request, messages),
        trapped: (process) => this.crash(process),
      },
    );
    this.wire.roughness = scenario.roughness;
    this.history = new History(violate, (segment) => this.server.tables.segments.has(segment));
    this.calls = new CallAudit(this.history, violate);
    this.plans = new Plans(random, {
      kinds: scenario.kinds,
      lanes: scenario.lanes,
      stages,
      mostPoison: scenario.mostPoison,
    });
    const { server, history, plans } = this;
    const { maxReclaims } = scenario.options;
    this.server.auditor = new CommitAudit({ server, history, plans, coverage, violate, maxReclaims });
    this.leadership = new Leadership({ time, random, trace, coverage, server, scenario }, this.termObserver());
    this.callers = new Callers({
      time,
      random,
      plans,
      history,
      coverage,
      violate,
      lanes: scenario.lanes,
      callees: { choose: () => this.chooseCallee() },
    });
    time.afterEvent = () => {
      if (this.violation !== null) throw this.violation;
    };
    for (let node = 0; node < scenario.nodes; node++) this.startNode(node);
    this.leadership.electSoon(1);
  }

  /** Noted here and thrown by the clock: what is thrown inside the queue's code would be an error of its book or handler. */
  readonly violate = (rule: QueueRule, message: string): void => {
    this.violation ??= new QueueViolation(rule, message);
  };

  crash(process: SimProcess): void {
    if (!process.isAlive) return;
    this.trace.note(this.time.now, process.node, "crashed", null);
    process.crash();
    this.calls.crashed(process);
    this.programs = this.programs.filter((program) => program.process !== process);
    this.leadership.candidates[process.node] = null;
    this.leadership.leads.delete(process);
    this.leadership.crashed(process);
    this.time.after(this.random.between(5, 200), () => this.startNode(process.node));
  }

  thaw(process: SimProcess): void {
    if (!process.isFrozen) return;
    this.trace.note(this.time.now, process.node, "thawed", null);
    process.thaw();
    // Whoever was deposed meanwhile notices at the next look at a clock, and its signal comes with the next timer.
    const term = [...this.terms.values()].find((one) => one.process === process && one.isDeposed && !one.hasEnded);
    if (term !== undefined) process.after(this.random.between(0, 30), () => term.end());
  }

  began(process: SimProcess, message: Message): Call | null {
    const term = this.terms.get(message.epoch);
    if (term?.process !== process) {
      this.violate("G5", `${message.body.toString()} carries epoch ${message.epoch}, which is another's`);
      return null;
    }
    const place = `${message.stage}/${message.lane} ${message.position} #${message.attempt}`;
    this.trace.note(this.time.now, process.node, `deliver ${place}`, message.body.toString());
    return this.calls.began(term, message);
  }

  ended(call: Call, outcome: "worked" | "failed"): void {
    if (!call.term.process.isAlive) return;
    this.trace.note(this.time.now, call.term.process.node, `${outcome} ${call.plan.name}`, null);
    if (call.term.controller.signal.aborted) this.coverage.count("handler", "abandoned");
    this.calls.ended(call, outcome);
  }

  felled({ plan, term, message }: Call): void {
    if (!term.process.isAlive) return;
    // Once redriven, it may do it all over again.
    const name = `${plan.name} at ${message.position}`;
    this.felledBy.set(name, (this.felledBy.get(name) ?? 0) + 1);
    this.crash(term.process);
  }

  private startNode(node: number): void {
    const process = new SimProcess(node, this.time, this.random);
    const { random, coverage, scenario } = this;
    const { handlerMs } = scenario;
    const habits = { handlerMs, timeoutMs: scenario.options.handlerTimeoutMs };
    const deliveries = new Deliveries(process, { random, coverage, observer: this, habits });
    const queue = new Queue(this.nodeOf(process), scenario.options, { remembers: node % 2 === 0 });
    for (const stage of scenario.options.stages ?? []) queue.process(stage, deliveries.handler);
    this.programs = [...this.programs, { process, queue }];
    this.leadership.candidates[node] = process;
  }

  private chooseCallee(): Program | null {
    const leader = this.programs.find(({ process }) => process === this.leadership.current?.process);
    if (leader !== undefined && this.random.chance(0.9)) return leader;
    return this.programs.length === 0 ? null : this.random.pick(this.programs);
  }

  private termObserver(): LeadershipObserver {
    return {
      began: (term) => {
        this.terms.set(term.epoch, term);
      },
      endedCleanly: (term) => this.checkDrained(term),
      failed: (term, error) => {
        this.trace.note(this.time.now, term.process.node, `failed: ${String(error)}`, null);
        const isKnown = !(error instanceof HoldfastError) || error.code !== "UNKNOWN_OUTCOME";
        const isExpected = error instanceof NotLeaderError || error instanceof StaleEpochError || !isKnown;
        if (!isExpected) this.violate("broken", `epoch ${term.epoch} failed: ${String(error)}`);
      },
    };
  }

  /** R9: the next one leads at once, so nothing may be at work. */
  private checkDrained(term: SimTerm): void {
    const [left] = this.calls.runningUnder(term);
    if (left !== undefined) this.violate("drain", `${left.plan.name} is still worked on after the end of its term`);
    if (!this.scenario.isCalm) return;
    for (const { stage, name, done, claimed, claimEpoch } of this.server.tables.lanes.values()) {
      if (claimed > done && claimEpoch === term.epoch) {
        this.violate("drain", `${stage}/${name} is still in flight, and will look like a crash`);
      }
    }
  }

  /** What the queue sees of its node. */
  private nodeOf(process: SimProcess): QueueNode {
    const { leadership } = this;
    return {
      role: () => ({
        gate: {
          requireLeader: () => {
            const term = leadership.current;
            if (term?.process !== process || !term.mayAct || term.controller.signal.aborted)
              throw new NotLeaderError("Another leads.");
            return { epoch: term.epoch, holder: term.fence.holder.nodeId };
          },
        },
        lead: (fn) => {
          leadership.leads.set(process, fn);
        },
      }),
      queueBook: this.wire.bookOf(process),
      log: {
        warn: (details, message) => this.trace.note(this.time.now, process.node, `warns: ${message}`, details),
      },
      id: `node-${process.node}`,
      clock: process.clock,
      random: this.random.unit,
    };
  }
}
