import type { Simulation } from "./simulation.js";

export type FaultName =
  | "crash"
  | "crashAtStep"
  | "freeze"
  | "longFreeze"
  | "cutOff"
  | "stepDown"
  | "shutGate"
  | "unaware"
  | "outage"
  | "rough"
  | "clockBack"
  | "clockForward"
  | "pause"
  | "resume";

const trapMethods = ["append", "append", "claim", "claim", "settle", "settle", "recover", "sweep", "rest", "renew"];
const trapSteps = ["sent", "done", "answered"] as const;

/** Breaks things, at random, for a while. */
export class Faults {
  private readonly simulation: Simulation;
  private isOn = true;

  constructor(simulation: Simulation) {
    this.simulation = simulation;
  }

  start(): void {
    const { time, random, scenario, trace } = this.simulation;
    time.after(random.between(0, 2 * scenario.faultEveryMs), () => {
      if (!this.isOn) return;
      const name = random.weighted(scenario.faults);
      trace.note(time.now, -2, `fault ${name}`, null);
      this.strike(name);
      this.start();
    });
  }

  end(): void {
    this.isOn = false;
  }

  private strike(name: FaultName): void {
    const { random, leadership, coverage, scenario, server, time } = this.simulation;
    const term = leadership.current;
    switch (name) {
      case "crash":
        if (term === null) return;
        coverage.count("fault", "crash");
        return this.simulation.crash(term.process);
      case "crashAtStep":
        if (term === null) return;
        coverage.count("fault", "crash at a step");
        term.process.trap = { method: random.pick(trapMethods), step: random.pick(trapSteps) };
        return;
      case "freeze":
        coverage.count("fault", "freeze");
        return this.freeze(random.between(5, scenario.lapseMs));
      case "longFreeze":
        return this.longFreeze();
      case "cutOff":
        return this.cutOff();
      case "stepDown":
        if (term === null) return;
        coverage.count("fault", "step down");
        return leadership.stepDown(term);
      case "shutGate":
        return this.shutGate();
      case "unaware":
        return this.unaware();
      case "outage":
        coverage.count("fault", "outage");
        server.isUp = false;
        time.after(random.between(5, 150), () => {
          server.isUp = true;
        });
        return;
      case "rough":
        coverage.count("fault", "rough network");
        this.simulation.wire.roughness = random.pick([0.1, 0.25, 0.4]);
        time.after(random.between(50, 400), () => {
          this.simulation.wire.roughness = scenario.roughness;
        });
        return;
      case "clockBack":
        coverage.count("fault", "clock back");
        server.clockAheadMs -= random.pick([5, 100, 1_000]);
        return;
      case "clockForward":
        coverage.count("fault", "clock forward");
        server.clockAheadMs += random.pick([5, 100, 1_000]);
        return;
      case "pause":
        coverage.count("fault", "pause");
        return this.simulation.operator.pause();
      case "resume":
        coverage.count("fault", "resume");
        return this.simulation.operator.resume();
    }
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
    const { leadership, time, scenario, random, coverage } = this.simulation;
    const term = leadership.current;
    if (term === null || !leadership.hasRival() || term.process.isFrozen) return;
    coverage.count("fault", "long freeze");
    this.freeze(scenario.lapseMs + random.between(1, 300));
    time.after(scenario.lapseMs, () => {
      if (leadership.current === term && term.process.isFrozen) leadership.takeOver();
    });
  }

  /** It knows by itself when its trust has run out, and that is before another leads. */
  private cutOff(): void {
    const { leadership, time, scenario, random, coverage } = this.simulation;
    const term = leadership.current;
    if (term === null || term.process.isCutOff) return;
    coverage.count("fault", "cut off");
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
    const { leadership, time, random, coverage } = this.simulation;
    const term = leadership.current;
    if (term === null) return;
    coverage.count("fault", "shut gate");
    term.isShut = true;
    time.after(random.between(1, 80), () => term.process.reach(() => term.open()));
  }

  /** What G3 assumes does not hold for a while. */
  private unaware(): void {
    const { leadership, time, random, coverage } = this.simulation;
    const term = leadership.current;
    if (term === null || !leadership.hasRival()) return;
    coverage.count("fault", "unaware");
    term.isUnaware = true;
    leadership.takeOver();
    time.after(random.between(1, 150), () => {
      term.isUnaware = false;
      term.process.reach(() => term.end());
    });
  }
}
