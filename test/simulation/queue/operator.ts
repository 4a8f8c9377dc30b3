import { HoldfastError } from "../../../src/errors.js";
import type { Simulation } from "./simulation.js";

/** Somebody who pauses and resumes lanes, from the process of any node. */
export class Operator {
  private readonly simulation: Simulation;

  constructor(simulation: Simulation) {
    this.simulation = simulation;
  }

  pause(): void {
    const { random, scenario } = this.simulation;
    this.steer("pause", { stage: random.pick(scenario.options.stages ?? []), lane: random.pick(scenario.lanes) });
  }

  resume(): void {
    const { random, server } = this.simulation;
    const held = [...server.tables.lanes.values()].filter(({ paused, blocked }) => paused || blocked);
    const lane = held.length === 0 ? null : random.pick(held);
    if (lane !== null) this.steer("resume", { stage: lane.stage, lane: lane.name });
  }

  /** Whatever is paused goes on; what is blocked stays. */
  resumePaused(): void {
    for (const { stage, name, paused } of this.simulation.server.tables.lanes.values()) {
      if (paused) this.steer("resume", { stage, lane: name });
    }
  }

  private steer(act: "pause" | "resume", lane: { readonly stage: string; readonly lane: string }): void {
    const { random, programs, violate } = this.simulation;
    const running = programs.filter(({ process }) => process.isAlive);
    if (running.length === 0) return;
    const { process, queue } = random.pick(running);
    process.reach(() => {
      queue[act](lane).catch((error: unknown) => {
        if (!(error instanceof HoldfastError) || error.code === "BROKEN_INVARIANT") violate("broken", String(error));
      });
    });
  }
}
