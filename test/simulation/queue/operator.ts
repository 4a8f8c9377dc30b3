import { HoldfastError } from "../../../src/errors.js";
import type { Queue } from "../../../src/queue/queue.js";
import type { Program, Simulation } from "./simulation.js";

/** Somebody who steers lanes, from the process of any node. */
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

  skip(): void {
    const { random, server } = this.simulation;
    const held = [...server.tables.lanes.values()].filter(({ blocked }) => blocked);
    const lane = held.length === 0 ? null : random.pick(held);
    if (lane !== null) this.steer("skip", { stage: lane.stage, lane: lane.name });
  }

  /** Some dead letters, on the leader. */
  redrive(): void {
    const { random, leadership } = this.simulation;
    const limit = random.whole(1, 3);
    this.act(
      ({ process }) => process === leadership.current?.process,
      (queue) => queue.redriveAll({ limit }),
    );
  }

  /** Whatever is paused goes on; what is blocked stays. */
  resumePaused(): void {
    for (const { stage, name, paused } of this.simulation.server.tables.lanes.values()) {
      if (paused) this.steer("resume", { stage, lane: name });
    }
  }

  private steer(deed: "pause" | "resume" | "skip", lane: { readonly stage: string; readonly lane: string }): void {
    this.act(
      () => true,
      (queue) => queue[deed](lane),
    );
  }

  private act(fits: (program: Program) => boolean, deed: (queue: Queue) => Promise<unknown>): void {
    const { random, programs, violate } = this.simulation;
    const running = programs.filter(fits);
    if (running.length === 0) return;
    const { process, queue } = random.pick(running);
    process.reach(() => {
      deed(queue).catch((error: unknown) => {
        if (!(error instanceof HoldfastError) || error.code === "BROKEN_INVARIANT") violate("broken", String(error));
      });
    });
  }
}
