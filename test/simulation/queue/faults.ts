import type { FaultKind } from "./fault-kinds.js";
import type { Operator } from "./operator.js";
import type { Simulation } from "./simulation.js";

const trapMethods = [
  "append",
  "append",
  "claim",
  "claim",
  "settle",
  "settle",
  "recover",
  "sweep",
  "rest",
  "rest",
  "renew",
];
const trapSteps = ["sent", "done", "answered"] as const;

/** Breaks things, at random, for a while. */
export class Faults {
  private readonly simulation: Simulation;
  private readonly operator: Operator;
  private isOn = true;

  constructor(simulation: Simulation, operator: Operator) {
    this.simulation = simulation;
    this.operator = operator;
  }

  start(): void {
    const { time, random, scenario, trace, coverage } = this.simulation;
    time.after(random.between(0, 2 * scenario.faultEveryMs), () => {
      if (!this.isOn) return;
      const name = random.weighted(scenario.faults);
      trace.note(time.now, -2, `fault ${name}`, null);
      coverage.count("fault", name);
      this.strike(name);
      this.start();
    });
  }

  end(): void {
    this.isOn = false;
  }

  private strike(name: FaultKind): void {
    const { random, leadership, scenario, server, time } = this.simulation;
    const term = leadership.current;
    switch (name) {
      case "crash":
        if (term === null) return;
        return this.simulation.crash(term.process);
      case "crash at a step":
        return this.setTrap();
      case "freeze":
        return this.freeze(random.between(5, scenario.lapseMs));
      case "long freeze":
        return this.longFreeze();
      case "cut off":
        return this.cutOff();
      case "step down":
        if (term === null) return;
        return leadership.stepDown(term);
      case "shut gate":
        return this.shutGate();
      case "unaware":
        return this.unaware();
      case "outage":
        server.isUp = false;
        time.after(random.between(5, 150), () => {
          server.isUp = true;
        });
        return;
      case "rough network":
        this.simulation.wire.roughness = random.pick([0.1, 0.25, 0.4]);
        time.after(random.between(50, 400), () => {
          if (this.isOn) this.simulation.wire.roughness = scenario.roughness;
        });
        return;
      case "clock back":
        server.clockAheadMs -= random.pick([5, 100, 1_000]);
        return;
      case "clock forward":
        server.clockAheadMs += random.pick([5, 100, 1_000]);
        return;
      case "pause":
        return this.operator.pause();
      case "resume":
        return this.operator.resume();
      case "skip":
        return this.operator.skip();
      case "redrive":
        return this.operator.redrive();
    }
  }

  /** For the leader; or for whoever leads next, in the first thing that it does. */
  private setTrap(): void {
    const { random, leadership, programs } = this.simulation;
    const trap = { method: random.pick(trapMethods), step: random.pick(trapSteps) };
    if (trap.method === "recover") for (const { process } of programs) process.trap = trap;
    else if (leadership.current !== null) leadership.current.process.trap = trap;
  }

  /** Too short for anybody to take over. */
  private freeze(ms: number): void {
    const process = this.simulation.leadership.current?.process;
    if (process === undefined || process.isFrozen) return;
    process.freeze();
    this.simulation.time.after(ms, () => this.simulation.thaw(process));
  }

  /** Long enough: another leads, and then the first one wakes. */
  private longFreeze(): void {
    const { leadership, time, scenario, random } = this.simulation;
    const term = leadership.current;
    if (term === null || !leadership.hasRival() || term.process.isFrozen) return;
    this.freeze(scenario.lapseMs + random.between(1, 300));
    time.after(scenario.lapseMs, () => {
      if (leadership.current === term && term.process.isFrozen) leadership.takeOver();
    });
  }

  /** It knows by itself when its trust has run out, and that is before another leads. */
  private cutOff(): void {
    const { leadership, time, scenario, random } = this.simulation;
    const term = leadership.current;
    if (term === null || term.process.isCutOff) return;
    term.process.isCutOff = true;
    const ms = random.between(5, 2 * scenario.lapseMs);
    time.after(ms, () => {
      term.process.isCutOff = false;
    });
    if (ms < scenario.lapseMs / 2) return;
    time.after(scenario.lapseMs / 2, () => term.process.reach(() => term.end()));
    time.after(scenario.lapseMs, () => {
      if (leadership.current === term) leadership.takeOver();
    });
  }

  private shutGate(): void {
    const { leadership, time, random } = this.simulation;
    const term = leadership.current;
    if (term === null) return;
    term.isShut = true;
    time.after(random.between(1, 80), () => term.process.reach(() => term.open()));
  }

  /** What G3 assumes does not hold for a while. */
  private unaware(): void {
    const { leadership, time, random } = this.simulation;
    const term = leadership.current;
    if (term === null || !leadership.hasRival()) return;
    term.isUnaware = true;
    leadership.takeOver();
    time.after(random.between(1, 150), () => {
      term.isUnaware = false;
      term.process.reach(() => term.end());
    });
  }
}
