import type { Operator } from "./operator.js";
import type { Simulation } from "./simulation.js";

/** By then all that waits has been tried often enough, swept and delivered; poison has felled all that it may. */
const longestMs = 60_000;
const lookMs = 50;

/** The faults have stopped. Everything that nobody holds has to get done, in bounded time. */
export async function heal(simulation: Simulation, operator: Operator): Promise<void> {
  const { time, server, wire, callers, programs, leadership, random } = simulation;
  callers.close();
  server.isUp = true;
  wire.roughness = 0;
  for (const { process } of programs) {
    process.trap = null;
    process.isCutOff = false;
    simulation.thaw(process);
  }
  leadership.current?.open();
  const staysPaused = random.chance(0.3);
  for (const until = time.now + longestMs; ; ) {
    await time.runUntil(time.now + lookMs);
    if (!staysPaused) operator.resumePaused();
    if (isDone(simulation)) break;
    if (time.now >= until) {
      simulation.violate("liveness", whatIsLeft(simulation));
      break;
    }
  }
  if (simulation.violation !== null) throw simulation.violation;
}

function isDone(simulation: Simulation): boolean {
  return simulation.callers.underWay === 0 && left(simulation).length === 0;
}

function left({ server }: Simulation) {
  return [...server.tables.lanes.values()].filter((lane) => lane.newest > lane.done && !lane.paused && !lane.blocked);
}

function whatIsLeft(simulation: Simulation): string {
  const lanes = left(simulation).map(({ stage, name, newest, done }) => `${stage}/${name} ${newest - done}`);
  return `after ${longestMs} ms there are ${simulation.callers.underWay} calls, and left in lanes: ${lanes.join(", ")}`;
}
