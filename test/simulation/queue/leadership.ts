import { ledUntilStopped } from "../../../src/election/led-until-stopped.js";
import type { Random } from "../random.js";
import type { Trace } from "../trace.js";
import type { Coverage } from "./coverage.js";
import type { SimProcess } from "./process.js";
import type { Scenario } from "./scenario.js";
import type { QueueServer } from "./server.js";
import { SimTerm } from "./term.js";
import type { VirtualTime } from "./virtual-time.js";

/** What a process does when it leads. */
export type LeadFunction = (term: {
  fence: SimTerm["fence"];
  signal: AbortSignal;
  require: () => void;
}) => Promise<void>;

export interface LeadershipObserver {
  began(term: SimTerm): void;
  /** The work of the term has ended by itself, and nothing was in the way. */
  endedCleanly(term: SimTerm): void;
  failed(term: SimTerm, error: unknown): void;
}

/**
 * Who leads, one epoch after another. The election is not what is simulated here: it is decided from outside, so that every
 * way in which a term can end comes often.
 */
export class Leadership {
  current: SimTerm | null = null;
  readonly leads = new Map<SimProcess, LeadFunction>();
  /** Processes that could lead, by node. */
  readonly candidates: (SimProcess | null)[];
  private readonly time: VirtualTime;
  private readonly random: Random;
  private readonly trace: Trace;
  private readonly coverage: Coverage;
  private readonly server: QueueServer;
  private readonly scenario: Scenario;
  private readonly observer: LeadershipObserver;
  private readonly past: number[] = [];
  private readonly atWork = new Map<SimProcess, SimTerm>();

  constructor(
    around: {
      readonly time: VirtualTime;
      readonly random: Random;
      readonly trace: Trace;
      readonly coverage: Coverage;
      readonly server: QueueServer;
      readonly scenario: Scenario;
    },
    observer: LeadershipObserver,
  ) {
    this.time = around.time;
    this.random = around.random;
    this.trace = around.trace;
    this.coverage = around.coverage;
    this.server = around.server;
    this.scenario = around.scenario;
    this.observer = observer;
    this.candidates = Array.from({ length: around.scenario.nodes }, () => null);
  }

  /** The next term, of whoever can lead; a little later, where nobody can now. */
  electSoon(delayMs: number): void {
    this.time.after(delayMs, () => {
      if (this.current !== null) return;
      const fit = this.candidates.filter((process): process is SimProcess => this.isFit(process));
      if (fit.length === 0) this.electSoon(this.random.between(5, 50));
      else this.elect(this.random.pick(fit));
    });
  }

  /** Another takes over, while the last one may go on not knowing of it. */
  takeOver(): void {
    const last = this.current;
    if (last === null) return;
    last.isDeposed = true;
    this.current = null;
    this.electSoon(0);
  }

  hasRival(): boolean {
    return this.candidates.some((process) => this.isFit(process) && process !== this.current?.process);
  }

  crashed(process: SimProcess): void {
    this.atWork.delete(process);
    if (this.current?.process !== process) return;
    this.current.isDeposed = true;
    this.current = null;
    this.electSoon(this.random.between(1, 60));
  }

  /** Given up cleanly: the next one leads when the work has ended, or when the lease has run out. */
  stepDown(term: SimTerm): void {
    if (this.current !== term || term.controller.signal.aborted) return;
    term.process.reach(() => term.end());
    this.time.after(this.scenario.drainMs, () => {
      if (this.current !== term) return;
      this.coverage.count("term", "drain overrun");
      this.time.after(this.scenario.lapseMs, () => {
        if (this.current === term) this.takeOver();
      });
    });
  }

  /** Whoever still works for an earlier term is not fit to lead (R10). */
  private isFit(process: SimProcess | null): boolean {
    return process?.isAlive === true && !process.isFrozen && !process.isCutOff && !this.atWork.has(process);
  }

  private elect(process: SimProcess): void {
    this.server.epoch += 1n;
    const term = new SimTerm(this.server.epoch, process);
    this.current = term;
    this.atWork.set(process, term);
    this.countElection(process.node);
    this.trace.note(this.time.now, process.node, `leads ${term.epoch}`, null);
    this.observer.began(term);
    process.reach(() => {
      this.runUntilStopped(term).then(
        () => this.ended(term),
        (error: unknown) => this.observer.failed(term, error),
      );
    });
  }

  private countElection(node: number): void {
    const last = this.past.at(-1);
    if (last === undefined) this.coverage.count("term", "first");
    else if (last === node) this.coverage.count("term", "same node again");
    else this.coverage.count("term", this.past.includes(node) ? "back again" : "another node");
    this.past.push(node);
  }

  /** By the product's own rule: a function that ended because of a shut gate is run again when it has opened. */
  private async runUntilStopped(term: SimTerm): Promise<void> {
    const { signal } = term.controller;
    const lead = this.leads.get(term.process);
    if (lead === undefined) return;
    await ledUntilStopped(() => lead({ fence: term.fence, signal, require: term.require }), {
      signal,
      gate: term,
      gateOpened: async () => {
        this.trace.note(this.time.now, term.process.node, "shut out", null);
        if (term.isLeader) this.coverage.count("term", "shut out by a gate that is open by then");
        await term.gateOpened();
        if (!signal.aborted) this.coverage.count("term", "run again in the same term");
      },
      failed: (error) => this.observer.failed(term, error),
    });
  }

  private ended(term: SimTerm): void {
    const { process } = term;
    if (!process.isAlive) return;
    term.hasEnded = true;
    this.atWork.delete(process);
    this.trace.note(this.time.now, process.node, `ended ${term.epoch}`, null);
    const isClean = this.current === term && term.controller.signal.aborted;
    if (!term.controller.signal.aborted) {
      this.coverage.count("term", "failed end");
      term.end();
    }
    if (isClean) {
      this.coverage.count("term", "clean end");
      this.observer.endedCleanly(term);
    }
    if (this.current !== term) return;
    this.current = null;
    this.electSoon(this.random.between(0.5, 30));
  }
}
