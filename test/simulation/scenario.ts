import type { SessionPath } from "../../src/election/core/elector-state.js";
import type { LeaseTerms } from "../../src/election/core/lease.js";
import type { NodeId, Role } from "../../src/election/core/names.js";
import { clockRateError, deriveTiming, type Timing } from "../../src/election/core/timing.js";
import type { FaultKind } from "./fault-kinds.js";
import type { Random } from "./random.js";
import { type Theme, type ThemeName, themes } from "./themes.js";

/** One node's settings. */
export interface NodePlan {
  readonly id: NodeId;
  readonly timing: Timing;
  readonly terms: LeaseTerms;
  readonly promotable: boolean;
  readonly path: SessionPath;
}

/** What one seed runs: everything that is decided before the first event. */
export interface Scenario {
  readonly theme: ThemeName;
  readonly nodes: readonly NodePlan[];
  readonly roles: readonly Role[];
  readonly faults: ReadonlyMap<FaultKind, number>;
  readonly faultsForMs: number;
  /** The mean time between two faults. */
  readonly faultEveryMs: number;
  /** Clocks at the ends of their range, no delays, and the tightest settings: the margins alone keep the promise. */
  readonly isTight: boolean;
  /** G3 assumes that the database's clock never steps forward. */
  readonly checksG3: boolean;
  readonly workFails: number;
  readonly workOverruns: number;
}

const themeWeights = new Map<ThemeName, number>(
  Object.entries(themes).map(([name, theme]) => [name as ThemeName, theme.weight]),
);

export function chooseScenario(random: Random, forced: ThemeName | null): Scenario {
  const name = forced ?? random.weighted(themeWeights);
  const theme: Theme = themes[name];
  const shared = chooseTiming(random, theme);
  const nodeCount = random.weighted(new Map([["2", 4], ["3", 4], ["4", 1], ["5", 1]])); // biome-ignore format: one line
  const roleCount = random.weighted(new Map([["1", 6], ["2", 2], ["3", 1]])); // biome-ignore format: one line
  const terms = chooseTerms(random, theme, shared);
  const nodes: NodePlan[] = [];
  for (let index = 0; index < Number(nodeCount); index++) {
    nodes.push(planNode(random, theme, index, shared, terms));
  }
  return {
    theme: name,
    nodes: nodes.some((node) => node.promotable) ? nodes : nodes.map((node) => ({ ...node, promotable: true })),
    roles: ["alpha", "beta", "gamma"].slice(0, Number(roleCount)) as Role[],
    faults: new Map(Object.entries({ ...commonFaults, ...theme.faults }) as [FaultKind, number][]),
    faultsForMs: random.between(4_000, 10_000),
    faultEveryMs: random.pick([300, 700, 1_500]),
    isTight: theme.tight ?? false,
    checksG3: theme.checksG3 ?? true,
    workFails: theme.workFails ?? 0.03,
    workOverruns: theme.workOverruns ?? 0.03,
  };
}

const commonFaults: Partial<Record<FaultKind, number>> = {
  crash: 3,
  pause: 3,
  suspend: 1,
  block: 1,
  partition: 1.5,
  partition_up: 0.7,
  partition_down: 0.7,
  cut_off: 0.7,
  kill_one: 1,
  kill_all: 1,
  reset_one: 1,
  reset_in_turn: 0.5,
  restart: 0.7,
  step_down: 0.7,
  handover: 0.7,
  candidacy: 0.7,
  slow_database: 1,
  rough_network: 1.5,
  slow_link: 1.5,
  wall_jump: 0.7,
  database_clock_back: 0.5,
  locked_row: 0.5,
  held_write: 0.7,
  advance_epoch: 0.2,
};

function planNode(random: Random, theme: Theme, index: number, shared: Timing, terms: LeaseTerms): NodePlan {
  const ownTiming = theme.mixed && random.chance(0.5) ? chooseTiming(random, theme) : shared;
  const ownTerms = theme.mixed ? chooseTerms(random, theme, ownTiming) : terms;
  const reluctant = theme.reluctant ?? 0;
  const acquireDelayMs = random.chance(reluctant) ? random.between(100, 1_500) : 0;
  return {
    id: `node-${index}` as NodeId,
    timing: { ...ownTiming, acquireDelayMs, evidenceGraceMs: ownTerms.evidenceGraceMs },
    terms: ownTerms,
    promotable: !random.chance(reluctant),
    path: random.pick(theme.paths ?? ["direct"]),
  };
}

/** Legal settings, and often the tightest ones: the margins must carry what they promise. */
function chooseTiming(random: Random, theme: Theme): Timing {
  const heartbeatMs = random.pick([200, 300, 500]);
  const requestMs = random.pick([110, 200, 400]);
  const fenceMs = Math.ceil(heartbeatMs * 1.2 + 2 * requestMs);
  const tightestMs = Math.ceil((fenceMs * (1 + clockRateError) + 20) / (1 - clockRateError));
  const ttlMs = tightestMs + (theme.tight ? 0 : random.pick([0, 0, 200, 1_000]));
  return deriveTiming({
    heartbeatMs,
    fenceMs,
    ttlMs,
    nodeTimeoutMs: heartbeatMs * random.pick([3, 5]),
    acquireDelayMs: 0,
    evidenceGraceMs: theme.grace ? random.between(theme.tight ? fenceMs * 0.7 : 100, fenceMs * 0.9) : 0,
    drainTimeoutMs: random.pick([200, 800]),
  });
}

function chooseTerms(random: Random, theme: Theme, timing: Timing): LeaseTerms {
  const grace = theme.mixed && random.chance(0.5) ? random.between(100, timing.fenceMs * 0.9) : timing.evidenceGraceMs;
  return {
    ttlMs: timing.ttlMs,
    onStall: random.pick(theme.onStall ?? ["depose"]),
    takeover: random.pick(theme.takeover ?? ["evidence"]),
    evidenceGraceMs: grace,
  };
}
