import type { QueueOptions } from "../../../src/queue/queue-settings.js";
import type { Random } from "../random.js";
import type { FaultKind } from "./fault-kinds.js";
import type { PlanKind } from "./plans.js";

export const queueName = "orders";
const firstStage = "in";
const secondStage = "out";

export type ThemeName = "ordinary" | "poison" | "calm" | "steps" | "leaders" | "wire" | "segments" | "clocks" | "gates";

interface Theme {
  readonly weight: number;
  readonly faults?: Partial<Record<FaultKind, number>>;
  readonly kinds?: Partial<Record<PlanKind, number>>;
  readonly roughness?: number;
  readonly segments?: boolean;
  readonly mostPoison?: number;
}

const quiet: Partial<Record<FaultKind, number>> = {
  crash: 0,
  "crash at a step": 0,
  freeze: 0,
  "long freeze": 0,
  "cut off": 0,
  unaware: 0,
  "step down": 0,
};

const themes: Readonly<Record<ThemeName, Theme>> = {
  ordinary: { weight: 4 },
  steps: { weight: 2, faults: { "crash at a step": 12 } },
  leaders: { weight: 3, faults: { "step down": 5, "long freeze": 5, unaware: 3, "cut off": 3, "shut gate": 4 } },
  wire: { weight: 3, faults: { "rough network": 6, outage: 3 }, roughness: 0.12 },
  clocks: { weight: 2, faults: { "clock back": 6, "clock forward": 6, freeze: 4 } },
  // A run that ends while its term goes on is followed by another under the same epoch, where no fence tells them apart.
  gates: { weight: 2, faults: { "shut gate": 14, "rough network": 5, "step down": 3 }, roughness: 0.12 },
  segments: { weight: 1, segments: true },
  // Nothing ends a term there but messages that fell their process: whoever else is put aside is innocent.
  poison: {
    weight: 2,
    faults: { ...quiet, "rough network": 0, outage: 0, "shut gate": 0 },
    kinds: { poison: 6 },
    mostPoison: 3,
    roughness: 0,
  },
  calm: {
    weight: 1,
    faults: { ...quiet, "rough network": 0, outage: 0, "clock back": 0, "clock forward": 0, "step down": 3 },
    roughness: 0,
  },
};

/** What one seed runs: everything that is decided before the first event. */
export interface Scenario {
  readonly theme: ThemeName;
  readonly nodes: number;
  readonly lanes: readonly string[];
  readonly options: QueueOptions & { readonly maxReclaims: number; readonly handlerTimeoutMs: number };
  readonly faults: ReadonlyMap<FaultKind, number>;
  readonly faultEveryMs: number;
  readonly faultsForMs: number;
  readonly kinds: ReadonlyMap<PlanKind, number>;
  readonly mostPoison: number;
  readonly callEveryMs: number;
  readonly handlerMs: number;
  /** The share of requests that meet with something. */
  readonly roughness: number;
  /** No request and no term meets with anything. */
  readonly isCalm: boolean;
  /** How long a drain may take, and how long a lease outlives its leader. */
  readonly drainMs: number;
  readonly lapseMs: number;
}

export const themeNames = Object.keys(themes) as readonly ThemeName[];

const themeWeights = new Map(Object.entries(themes).map(([name, { weight }]) => [name as ThemeName, weight]));

const commonFaults: Readonly<Record<FaultKind, number>> = {
  crash: 3,
  "crash at a step": 4,
  freeze: 2,
  "long freeze": 1.5,
  "cut off": 1,
  "step down": 1.5,
  "shut gate": 1.5,
  unaware: 1,
  outage: 0.7,
  "rough network": 1.5,
  "clock back": 0.7,
  "clock forward": 0.7,
  pause: 1.5,
  resume: 1.5,
  skip: 1,
  redrive: 1,
};

const commonKinds: Readonly<Record<PlanKind, number>> = {
  works: 60,
  throws: 10,
  hangs: 3,
  takesTooLong: 3,
  neverWorks: 3,
  poison: 0.7,
};

export function chooseScenario(random: Random, forced: ThemeName | null): Scenario {
  const name = forced ?? random.weighted(themeWeights);
  const theme = themes[name];
  const lanes = Array.from({ length: random.whole(1, 8) }, (_, index) => "abcdefgh"[index] ?? "a");
  return {
    theme: name,
    nodes: random.whole(1, 3),
    lanes,
    options: chooseOptions(random, theme),
    faults: new Map(Object.entries({ ...commonFaults, ...theme.faults }) as [FaultKind, number][]),
    faultEveryMs: random.pick([60, 150, 400]),
    faultsForMs: random.between(600, 1_800),
    kinds: new Map(Object.entries({ ...commonKinds, ...theme.kinds }) as [PlanKind, number][]),
    mostPoison: theme.mostPoison ?? 2,
    callEveryMs: random.pick([6, 12, 30]),
    handlerMs: random.pick([0, 2, 10]),
    roughness: theme.roughness ?? random.pick([0, 0.01, 0.05]),
    isCalm: name === "calm",
    drainMs: random.pick([150, 600]),
    lapseMs: random.pick([100, 300]),
  };
}

function chooseOptions(random: Random, theme: Theme): Scenario["options"] {
  const leaseMs = random.pick([100, 150, 400]);
  return {
    name: queueName,
    stages: random.chance(0.7) ? [firstStage, secondStage] : [firstStage],
    policy: random.chance(0.7) ? "dead_letter" : "block",
    maxAttempts: random.whole(1, 3),
    maxReclaims: random.whole(1, 3),
    backoffMs: random.pick([0, 10, 80]),
    backoffCapMs: 200,
    concurrency: random.whole(1, 4),
    batch: random.whole(1, 8),
    handlerTimeoutMs: random.pick([30, 120]),
    leaseMs,
    sweepIntervalMs: random.pick([20, 60, 200]),
    ...(theme.segments === true
      ? { segmentMs: random.pick([80, 300]), retentionMs: random.pick([0, 200, 1_000]) }
      : { retentionMs: null }),
  };
}
