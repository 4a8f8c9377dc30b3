import { keepsOffUntil } from "../../src/election/core/campaigning.js";
import { graceMs } from "../../src/election/core/elector-state.js";
import type { Role } from "../../src/election/core/names.js";
import type { SimNode } from "./sim-node.js";
import type { Simulation } from "./simulation.js";
import { Violation } from "./violation.js";

/** How often the simulation is looked at while it settles. */
const lookEveryMs = 20;

/**
 * G6, after the faults have stopped: every role gets one leader in a bounded time, with an heir behind it and its crash
 * detector armed, and it stays. Then nobody does more than its beats, and nobody has left a session behind.
 */
export function checkLiveness(simulation: Simulation): void {
  const { world, nodes } = simulation;
  const deadline = world.now + boundMs(simulation);
  const calmMs = Math.max(...nodes.map(({ plan }) => plan.timing.ttlMs)) + 500;
  let goodSince: number | null = null;
  let costs: Cost[] = [];
  for (;;) {
    world.runUntil(world.now + lookEveryMs);
    const wrong = whatIsWrong(simulation);
    if (wrong !== null) {
      goodSince = null;
      if (world.now > deadline)
        throw new Violation("G6", `${wrong}, ${Math.round(boundMs(simulation))} ms after the faults`);
      continue;
    }
    if (goodSince === null) {
      goodSince = world.now;
      costs = nodes.map(costOf);
    }
    if (world.now - goodSince >= calmMs) break;
  }
  checkCosts(simulation, costs, world.now - goodSince);
  // A connection that was slow to be accepted is given up by the server's keep-alive at last.
  for (let waits = 0; waits < 20 && leftSessions(simulation) !== null; waits++) world.runUntil(world.now + 500);
  const left = leftSessions(simulation);
  if (left !== null) throw new Violation("sessions", left);
}

/** The lease that still runs, then a quarantine, the delays of the settings and of the retries, and a few beats. */
function boundMs({ scenario, nodes, world }: Simulation): number {
  const most = (of: (node: SimNode) => number): number => Math.max(...nodes.map(of));
  const ttlMs = most(({ plan }) => plan.timing.ttlMs);
  const delayMs = most(({ plan }) => plan.timing.acquireDelayMs);
  const beatMs = most(({ plan }) => plan.timing.heartbeatMs);
  const requestMs = most(({ plan }) => plan.timing.requestTimeoutMs);
  const workMs = most((node) => node.drainTimeoutMs) * 3;
  const keepOffMs = Math.max(...scenario.roles.map((role) => shortestKeepOffMs(role, nodes, world.now)));
  const retriesMs = 2_000 + 2 * 800;
  return (2 * ttlMs + delayMs + 8 * beatMs + 3 * requestMs + workMs + keepOffMs + retriesMs) * 1.02 + 1_000;
}

/** How long until the first candidate of a role keeps off it no longer. */
function shortestKeepOffMs(role: Role, nodes: readonly SimNode[], time: number): number {
  const waits = nodes
    .filter(({ plan }) => plan.promotable)
    .map((node) => {
      const known = node.state.roles.get(role);
      return (known === undefined ? 0 : keepsOffUntil(known)) - node.clock.mono(time);
    });
  return Math.max(0, Math.min(...waits));
}

function whatIsWrong(simulation: Simulation): string | null {
  for (const role of simulation.scenario.roles) {
    const wrong = whatIsWrongWith(role, simulation);
    if (wrong !== null) return wrong;
  }
  return null;
}

function whatIsWrongWith(role: Role, { nodes, server }: Simulation): string | null {
  const leading = nodes.filter((node) => node.gateIsOpen(role, null));
  const [leader] = leading;
  if (leader === undefined) return `nobody leads ${role}`;
  if (leading.length > 1) return `${leading.length} nodes lead ${role}`;
  const { database } = server;
  const lease = database.lease(role);
  if (leader.state.roles.get(role)?.term?.phase !== "leading") return `the leader of ${role} drains`;
  if (lease.incarnation !== leader.incarnation) return `the row of ${role} names ${lease.holder}`;
  const isArmed = leader.path === "pooled" || database.owner(role, "lock") === lease.lockSession;
  if (!isArmed) return `the leader of ${role} does not hold its lock`;
  const standbys = nodes.filter((node) => node !== leader && mayInherit(node, role));
  const heir = nodes.find((node) => {
    const { lock, roles } = node.state;
    return roles.get(role)?.isHeir && lock.kind === "open" && database.owner(role, "heir") === lock.ref;
  });
  if (standbys.length > 0 && heir === undefined) return `${role} has no heir`;
  return null;
}

export function mayInherit(node: SimNode, role: Role): boolean {
  const { promotable, timing } = node.plan;
  const known = node.state.roles.get(role);
  if (known === undefined || known.workEpoch !== null) return false;
  const keepsOff = keepsOffUntil(known) > node.clock.mono(node.around.world.now);
  return promotable && timing.acquireDelayMs === 0 && node.path !== "pooled" && !keepsOff;
}

interface Cost {
  readonly node: SimNode;
  readonly steps: number;
  readonly beats: number;
}

const costOf = (node: SimNode): Cost => ({ node, steps: node.steps, beats: node.beats });

/** An idle node sends a beat a heartbeat. Whoever leads or is heir does a little more, in proportion. */
function checkCosts({ scenario }: Simulation, before: readonly Cost[], spanMs: number): void {
  for (const { node, steps, beats } of before) {
    const { heartbeatMs } = node.plan.timing;
    const sent = node.beats - beats;
    const mostBeats = spanMs / (heartbeatMs * 0.79) + 2 + 2 * scenario.roles.length;
    if (sent > mostBeats) throw new Violation("livelock", `node ${node.index} sent ${sent} beats in ${spanMs} ms`);
    const grace = graceMs(node.state);
    const pulses = grace > 0 ? spanMs / (grace / 4) : 0;
    const looks = scenario.roles.length * (spanMs / (heartbeatMs * 0.2) + spanMs / 200);
    const mostSteps = 20 + 4 * (mostBeats + pulses + looks);
    const taken = node.steps - steps;
    if (taken > mostSteps) throw new Violation("livelock", `node ${node.index} took ${taken} steps in ${spanMs} ms`);
  }
}

/** One for beats and locks, one witness, one for each role that the node campaigns for; none of a process that died. */
function leftSessions({ nodes, server, scenario }: Simulation): string | null {
  const alive = new Set(nodes.map((node) => node.incarnation));
  for (const incarnation of server.incarnationsWithSessions()) {
    if (!alive.has(incarnation)) return `sessions of ${incarnation}, which is dead, are left`;
  }
  for (const node of nodes) {
    const count = server.sessionsOf(node.incarnation).length;
    const most = 2 + scenario.roles.length;
    if (count > most) return `node ${node.index} has ${count} sessions, of at most ${most}`;
  }
  return null;
}
