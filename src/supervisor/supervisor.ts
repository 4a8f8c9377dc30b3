import type { Logger } from "pino";
import type { Clock } from "../election/clock.js";
import { relay } from "./child-log.js";
import { agentName, agentPlan, type ChildPlan, controllerPlan, type PlanParts } from "./child-plan.js";
import type { RunningChild } from "./child-process.js";
import { readWord } from "./controller-word.js";
import type { ChildName, Effect, Input } from "./core/messages.js";
import { dueAt, step } from "./core/supervisor-core.js";
import { initialState, type SupervisorSettings, type SupervisorState } from "./core/supervisor-state.js";
import { describeExit, tellNotice } from "./notice-log.js";

export interface SupervisorParts {
  readonly settings: SupervisorSettings;
  readonly plans: PlanParts;
  readonly start: (plan: ChildPlan) => RunningChild;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  /** Where the lines of the children's logs go. */
  readonly write: (line: string) => void;
}

/** Runs the two children: feeds the core with what happens to them, and does what it says. It decides nothing by itself. */
export class Supervisor {
  /** Resolves with the exit code when no child is left. */
  readonly ended: Promise<number>;
  private readonly parts: SupervisorParts;
  private state: SupervisorState;
  private readonly children: Record<ChildName, { readonly run: number; readonly running: RunningChild } | null> = {
    controller: null,
    agent: null,
  };
  private wake: () => void = () => undefined;
  private end: (exitCode: number) => void = () => undefined;

  constructor(parts: SupervisorParts) {
    this.parts = parts;
    this.state = initialState(parts.settings);
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  start(): void {
    this.give({ kind: "start" });
  }

  /** The agent, then the controller, each in its own time. */
  stop(): void {
    this.give({ kind: "stop" });
  }

  stopAtOnce(): void {
    this.give({ kind: "stopAtOnce" });
  }

  private give(input: Input): void {
    const { clock, random } = this.parts;
    const { state, effects } = step(this.state, input, clock.mono(), random());
    this.state = state;
    for (const effect of effects) this.do(effect);
    this.wake();
    const at = dueAt(this.state);
    this.wake = at === null ? () => undefined : clock.wakeAt(at, () => this.give({ kind: "tick" }));
  }

  private do(effect: Effect): void {
    switch (effect.kind) {
      case "spawnController":
        return this.spawn(controllerPlan(this.parts.plans), effect.run, {});
      case "spawnAgent": {
        const name = agentName(effect.beside.nodeId);
        return this.spawn(agentPlan(this.parts.plans, effect.beside), effect.run, { agent: name });
      }
      case "signal": {
        const child = this.children[effect.child];
        if (child?.run === effect.run) child.running.send(effect.signal);
        return;
      }
      case "tell":
        return tellNotice(this.parts.log, effect.notice);
      case "end":
        return this.end(effect.exitCode);
    }
  }

  private spawn(plan: ChildPlan, run: number, fields: Readonly<Record<string, string>>): void {
    const { log, write, start } = this.parts;
    const { child } = plan;
    const running = start(plan);
    this.children[child] = { run, running };
    log.info({ child, child_pid: running.pid, run, ...fields }, `the ${child} starts`);
    relay(running, child, { log, write });
    if (child === "controller") running.onMessage((message) => this.heard(run, message));
    void running.exited.then(({ error, ...exit }) => {
      if (error !== undefined) log.error({ child, run, err: error }, `the ${child} cannot be started`);
      else log.info({ child, child_pid: running.pid, run }, `the ${child} ended (${describeExit(exit)})`);
      this.give({ kind: "exited", child, run, exit });
    });
  }

  private heard(run: number, message: unknown): void {
    const word = readWord(message);
    if (word === null) return;
    if (word.kind === "serving") {
      const { node_id: nodeId, url } = word;
      return this.give({ kind: "serving", run, place: { nodeId, url } });
    }
    this.parts.log.info({ child: "controller", role: word.role }, `the controller is ${word.role}`);
    this.give({ kind: "role", run, role: word.role });
  }
}
