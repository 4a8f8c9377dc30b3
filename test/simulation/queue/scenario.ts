import type { QueueOptions } from "../../../src/queue/queue-settings.js";
import type { Random } from "../random.js";
import type { FaultName } from "./faults.js";
import type { PlanKind } from "./plans.js";

export const queueName = "orders";
export const firstStage = "in";
export const secondStage = "out";

export type ThemeName = "ordinary" | "poison" | "calm" | "steps" | "leaders" | "wire" | "segments" | "clocks";

interface Theme {
  readonly weight: number;
  readonly faults?: Partial<Record<FaultName, number>>;
  readonly kinds?: Partial<Record<PlanKind, number>>;
  readonly roughness?: number;
  readonly segments?: boolean;
}

const quiet: Partial<Record<FaultName, number>> = {
  crash: 0,
  crashAtStep: 0,
  freeze: 0,
  longFreeze: 0,
  cutOff: 0,
  unaware: 0,
  stepDown: 0,
};

const themes: Readonly<Record<ThemeName, Theme>> = {
  ordinary: { weight: 4 },
  steps: { weight: 2, faults: { crashAtStep: 12 } },
  leaders: { weight: 3, faults: { stepDown: 5, longFreeze: 5, unaware: 3, cutOff: 3, shutGate: 4 } },
  wire: { weight: 3, faults: { rough: 6, outage: 3 }, roughness: 0.12 },
  clocks: { weight: 2, faults: { clockBack: 6, clockForward: 6, freeze: 4 } },
  segments: { weight: 1, segments: true },
  // Nothing ends a term there but the message that fells its process: whoever else is put aside is innocent.
  poison: { weight: 2, faults: { ...quiet, rough: 0, outage: 0, shutGate: 0 }, kinds: { poison: 6 }, roughness: 0 },
  calm: { weight: 1, faults: { ...quiet, rough: 0, outage: 0, stepDown: 3 }, roughness: 0 },
};

/** What one seed runs: everything that is decided before the first event. */
export interface Scenario {
  readonly theme: ThemeName;
  readonly nodes: number;
  readonly lanes: readonly string[];
  readonly options: QueueOptions & { readonly maxReclaims: number; readonly handlerTimeoutMs: number };
  readonly faults: ReadonlyMap<FaultName, number>;
  readonly faultEveryMs: number;
  readonly faultsForMs: number;
  readonly kinds: ReadonlyMap<PlanKind, number>;
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

const themeWeights = new Map(Object.entries(themes).map(([name, { weight }]) => [name as ThemeName, weight]));

const commonFaults: Readonly<Record<FaultName, number>> = {
  crash: 3,
  crashAtStep: 4,
  freeze: 2,
  longFreeze: 1.5,
  cutOff: 1,
  stepDown: 1.5,
  shutGate: 1.5,
  unaware: 1,
  outage: 0.7,
  rough: 1.5,
  clockBack: 0.7,
  clockForward: 0.7,
  pause: 1.5,
  resume: 1.5,
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
  const lanes = Array.from({ length: random.whole(1, 5) }, (_, index) => "abcde"[index] ?? "a");
  return {
    theme: name,
    nodes: random.whole(1, 3),
    lanes,
    options: chooseOptions(random, theme),
    faults: new Map(Object.entries({ ...commonFaults, ...theme.faults }) as [FaultName, number][]),
    faultEveryMs: random.pick([60, 150, 400]),
    faultsForMs: random.between(1_000, 2_500),
    kinds: new Map(Object.entries({ ...commonKinds, ...theme.kinds }) as [PlanKind, number][]),
    callEveryMs: random.pick([4, 10, 30]),
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
