import { graceMs } from "../../src/election/core/elector-state.js";
import type { Role } from "../../src/election/core/names.js";
import { mayInherit } from "./liveness.js";
import type { SimNode } from "./sim-node.js";
import type { Simulation } from "./simulation.js";
import { Violation } from "./violation.js";

/** How a leader goes, in a cluster that is otherwise well. */
const departures = ["crash", "step_down", "freeze"] as const;
type Departure = (typeof departures)[number];

/** A session of a process that was killed lives on for this long at most. */
const lingerMs = 40;
/** Retries of an acquisition are spread by this much (R12). */
const retryMs = 800;

/**
 * G6 in figures: the next leader of a well cluster acts after a notification, after some milliseconds, or after the TTL
 * and a beat, by how the last one went.
 */
export function checkFailover(simulation: Simulation): void {
  const { random, scenario, nodes, world } = simulation;
  const role = random.pick(scenario.roles);
  const leader = nodes.find((node) => node.gateIsOpen(role, null));
  const heir = nodes.find((node) => node.state.roles.get(role)?.isHeir);
  if (leader === undefined || heir === undefined || !mayInherit(heir, role)) return;
  const departure = random.pick(departures);
  if (departure === "freeze" && leader.plan.terms.onStall === "hold") return;
  let boundMs = longestGapMs(departure, role, leader, heir, simulation);
  const since = world.now;
  world.trace.note(since, leader.index, `leaves: ${departure}`, role);
  depart(departure, role, leader);
  const last = simulation.server.database.lease(role).epoch;
  const isLed = (): boolean =>
    nodes.some((node) => {
      const term = node.state.roles.get(role)?.term;
      return term && term.epoch > last && node.isRunning() && node.gateIsOpen(role, null);
    });
  while (!isLed()) {
    // An heir that asks by an old view just before the release is told to come back when the lease has run out.
    const asksTooEarly = heir.state.roles.get(role)?.campaign.request?.what === "acquire";
    const isReleased = simulation.server.database.lease(role).holder === null;
    if (departure === "step_down" && asksTooEarly && !isReleased) boundMs += heir.plan.timing.ttlMs + retryMs;
    if (world.now - since > boundMs) {
      throw new Violation("G6", `nobody leads ${role} ${Math.round(boundMs)} ms after a ${departure} of its leader`);
    }
    world.runUntil(world.now + 2);
  }
}

function depart(departure: Departure, role: Role, leader: SimNode): void {
  if (departure === "crash") leader.crash();
  else if (departure === "freeze") leader.stop("paused");
  else leader.receive({ kind: "stepDown", role, to: null, reason: "stepped_down", yieldMs: 0 }, null);
}

function longestGapMs(
  departure: Departure,
  role: Role,
  leader: SimNode,
  heir: SimNode,
  simulation: Simulation,
): number {
  const { server, weather } = simulation;
  const roundTripMs = 2 * (weather.baseMs + weather.jitterMs) + server.usualMs + 1;
  // A link to open, a few questions, and with a grace the first renewal, none of them at its best.
  const askingMs = 12 * roundTripMs + 20;
  if (departure === "step_down") return 30 + askingMs;
  const lease = server.database.lease(role);
  const campaign = heir.state.roles.get(role)?.campaign;
  const hasSeen = campaign?.sighting !== null && campaign?.sighting?.witnessSession === lease.witnessSession;
  const byEvidence = departure === "crash" && leader.path !== "pooled" && lease.takeover === "evidence";
  if (byEvidence && campaign?.request?.what === "wait" && hasSeen) {
    const grace = Math.max(lease.evidenceGraceMs, graceMs(heir.state));
    return lingerMs + (grace > 0 ? grace * 1.05 + 30 : 0) + askingMs;
  }
  return lease.ttlMs * 1.03 + retryMs + heir.plan.timing.heartbeatMs * 1.3 + askingMs;
}
