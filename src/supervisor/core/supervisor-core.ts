import { backoffMs } from "../../queue/core/backoff.js";
import type { ChildName, Effect, Exit, Input, Notice } from "./messages.js";
import { type Child, type ChildPhase, placeForAgent, type SupervisorState } from "./supervisor-state.js";

export interface Stepped {
  readonly state: SupervisorState;
  readonly effects: readonly Effect[];
}

/** The exit code of a program that was called wrongly, or whose settings are wrong: it ends so every time. */
const hopelessExit = 2;
const failedExit = 1;

/**
 * All that a node-controller decides. `now` is a monotonic time, `random` (0 to 1) shortens a backoff. The caller does the
 * effects in their order, and steps again at `dueAt`.
 */
export function step(before: SupervisorState, input: Input, now: number, random: number): Stepped {
  const turn = new Turn(before, now);
  turn.take(input, random);
  turn.settle();
  return { state: turn.state, effects: turn.effects };
}

/** When time alone changes something; null while only news can. */
export function dueAt({ controller, agent, ending }: SupervisorState): number | null {
  if (ending === "over") return null;
  const times = [controller, agent].flatMap((child) => {
    const at = dueOf(child);
    return at === null ? [] : [at];
  });
  return times.length === 0 ? null : Math.min(...times);
}

function dueOf({ phase, failures }: Child): number | null {
  switch (phase.kind) {
    case "off":
      return null;
    case "waiting":
      return phase.until;
    case "running":
      return failures > 0 ? phase.healthyAt : null;
    case "stopping":
      return phase.killAt;
  }
}

/** One step under way: the state as far as it has come, and what is to be done. */
class Turn {
  state: SupervisorState;
  readonly effects: Effect[] = [];
  private readonly now: number;

  constructor(state: SupervisorState, now: number) {
    this.state = state;
    this.now = now;
  }

  take(input: Input, random: number): void {
    this.forgive("controller");
    this.forgive("agent");
    switch (input.kind) {
      case "start":
      case "tick":
        return;
      case "serving":
        return this.serving(input);
      case "role":
        if (this.isCurrent("controller", input.run)) this.change({ role: input.role });
        return;
      case "exited":
        if (this.isCurrent(input.child, input.run)) this.exited(input.child, input.exit, random);
        return;
      case "stop":
        if (this.state.ending === "no") this.change({ ending: "in_order" });
        return;
      case "stopAtOnce":
        if (this.state.ending !== "over") this.change({ ending: "at_once", exitCode: failedExit });
    }
  }

  /** Brings the children to where they belong now. The agent comes first: the controller stops only when it is gone. */
  settle(): void {
    if (this.state.ending === "over") return;
    if (this.state.ending === "at_once") this.killAll();
    this.settleAgent();
    this.settleController();
    this.kill("agent");
    this.kill("controller");
    const { controller, agent, ending, exitCode } = this.state;
    if (ending === "no" || controller.phase.kind !== "off" || agent.phase.kind !== "off") return;
    this.change({ ending: "over" });
    this.effects.push({ kind: "end", exitCode });
  }

  private settleAgent(): void {
    const place = placeForAgent(this.state);
    const { phase } = this.state.agent;
    if (place !== null && this.mayStart(phase)) {
      const { runs } = this.spawned("agent", this.now + this.state.settings.healthyMs);
      this.effects.push({ kind: "spawnAgent", run: runs, beside: place });
    } else if (place === null && phase.kind === "running") {
      const { ending, role } = this.state;
      if (ending === "no") this.tell({ kind: "agentOff", because: role ?? "controller_gone" });
      this.terminate("agent", phase.run);
    } else if (place === null && (this.mayStart(phase) || this.isEnding)) this.rest("agent");
  }

  private settleController(): void {
    const { controller, agent } = this.state;
    const { phase } = controller;
    if (!this.isEnding && this.mayStart(phase)) {
      const { runs } = this.spawned("controller", null);
      this.effects.push({ kind: "spawnController", run: runs });
    } else if (this.isEnding) {
      this.rest("controller");
      if (phase.kind === "running" && agent.phase.kind === "off") this.terminate("controller", phase.run);
    }
  }

  private serving({ run, place }: Extract<Input, { kind: "serving" }>): void {
    const { phase } = this.state.controller;
    if (phase.kind !== "running" || phase.run !== run) return;
    this.change({ place, everServed: true });
    this.enter("controller", { ...phase, healthyAt: this.now + this.state.settings.healthyMs });
  }

  private exited(name: ChildName, exit: Exit, random: number): void {
    const { phase } = this.state[name];
    const wasAsked = phase.kind === "stopping" || this.isEnding;
    if (name === "controller") {
      this.change({ place: null, role: null });
      const isClean = exit.code === 0 || exit.signal === "SIGTERM";
      if (this.isEnding && !isClean && this.state.exitCode === 0) this.change({ exitCode: failedExit });
    }
    if (wasAsked) this.enter(name, { kind: "off" });
    else this.failed(name, exit, random);
  }

  /** Ended by itself. Nothing is given up for that, but what was called wrongly from the start and never served. */
  private failed(name: ChildName, exit: Exit, random: number): void {
    const { settings, everServed } = this.state;
    const failures = this.state[name].failures + 1;
    const isHopeless = name === "controller" && exit.code === hopelessExit && !everServed;
    this.put(name, { ...this.state[name], failures, phase: { kind: "off" } });
    if (isHopeless && failures >= settings.loopAfter) {
      this.tell({ kind: "givenUp", exit, failures });
      return this.change({ ending: "in_order", exitCode: hopelessExit });
    }
    const inMs = backoffMs(failures, settings.backoff, random);
    this.enter(name, { kind: "waiting", until: this.now + inMs });
    this.tell({ kind: "restart", child: name, exit, failures, inMs });
    if (failures === settings.loopAfter) this.tell({ kind: "crashLoop", child: name, exit, failures });
  }

  /** A child that has run for long enough begins anew. */
  private forgive(name: ChildName): void {
    const child = this.state[name];
    const { phase, failures } = child;
    if (phase.kind !== "running" || phase.healthyAt === null || this.now < phase.healthyAt || failures === 0) return;
    this.put(name, { ...child, failures: 0 });
    if (failures >= this.state.settings.loopAfter) this.tell({ kind: "settled", child: name });
  }

  private spawned(name: ChildName, healthyAt: number | null): Child {
    const runs = this.state[name].runs + 1;
    const child: Child = { ...this.state[name], runs, phase: { kind: "running", run: runs, healthyAt } };
    this.put(name, child);
    return child;
  }

  private terminate(name: ChildName, run: number): void {
    const killAt = this.now + this.state.settings.stopMs[name];
    this.enter(name, { kind: "stopping", run, killAt });
    this.effects.push({ kind: "signal", child: name, run, signal: "SIGTERM" });
  }

  private kill(name: ChildName): void {
    const { phase } = this.state[name];
    if (phase.kind !== "stopping" || phase.killAt === null || this.now < phase.killAt) return;
    this.enter(name, { ...phase, killAt: null });
    this.effects.push({ kind: "signal", child: name, run: phase.run, signal: "SIGKILL" });
    if (this.state.ending === "at_once") return;
    this.tell({ kind: "overdue", child: name, afterMs: this.state.settings.stopMs[name] });
    if (this.isEnding) this.change({ exitCode: failedExit });
  }

  private killAll(): void {
    for (const name of ["agent", "controller"] as const) {
      const { phase } = this.state[name];
      const isKilled = phase.kind === "stopping" && phase.killAt === null;
      if ((phase.kind === "running" || phase.kind === "stopping") && !isKilled) {
        this.enter(name, { kind: "stopping", run: phase.run, killAt: this.now });
      }
    }
  }

  private rest(name: ChildName): void {
    if (this.state[name].phase.kind === "waiting") this.enter(name, { kind: "off" });
  }

  /** A pause is kept also where the child is not wanted meanwhile: a role that changes back and forth must not shorten it. */
  private mayStart(phase: ChildPhase): boolean {
    return phase.kind === "off" || (phase.kind === "waiting" && this.now >= phase.until);
  }

  private get isEnding(): boolean {
    return this.state.ending !== "no";
  }

  private isCurrent(name: ChildName, run: number): boolean {
    const { phase } = this.state[name];
    return (phase.kind === "running" || phase.kind === "stopping") && phase.run === run;
  }

  private enter(name: ChildName, phase: ChildPhase): void {
    this.put(name, { ...this.state[name], phase });
  }

  private put(name: ChildName, child: Child): void {
    this.change(name === "controller" ? { controller: child } : { agent: child });
  }

  private change(changed: Partial<SupervisorState>): void {
    this.state = { ...this.state, ...changed };
  }

  private tell(notice: Notice): void {
    this.effects.push({ kind: "tell", notice });
  }
}
