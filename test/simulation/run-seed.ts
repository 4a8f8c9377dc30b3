import { Coverage } from "./coverage.js";
import { checkFailover } from "./failover.js";
import { Faults } from "./faults.js";
import type { Hooks } from "./hooks.js";
import { checkLiveness } from "./liveness.js";
import { Simulation } from "./simulation.js";
import type { ThemeName } from "./themes.js";
import { Violation } from "./violation.js";

export interface Outcome {
  readonly seed: number;
  readonly theme: ThemeName;
  readonly violation: Violation | null;
  /** Of everything that happened, in order. */
  readonly hash: string;
  readonly events: number;
  /** The last lines of the trace, where text was asked for. */
  readonly lines: readonly string[];
}

export interface RunOptions {
  readonly coverage?: Coverage;
  readonly hooks?: Hooks;
  readonly theme?: ThemeName;
  /** How many lines of the trace to keep. */
  readonly keepsLines?: number;
}

/** Runs one seed: a while of faults, the healing, and a last failover, with every invariant checked at every step. */
export function runSeed(seed: number, options: RunOptions = {}): Outcome {
  const { coverage = new Coverage(), hooks = {}, theme = null, keepsLines = 0 } = options;
  const simulation = new Simulation({ seed, coverage, hooks, theme, keepsText: keepsLines > 0 });
  const { world, scenario } = simulation;
  const faults = new Faults(simulation);
  let violation: Violation | null = null;
  try {
    faults.start();
    world.runUntil(scenario.faultsForMs);
    faults.end();
    checkLiveness(simulation);
    checkFailover(simulation);
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    violation = error;
    world.trace.note(world.now, -2, error.message, null);
  }
  const lines = world.trace.last(keepsLines);
  return { seed, theme: scenario.theme, violation, hash: world.trace.digest(), events: world.events, lines };
}

/** All that somebody needs to look into a failing seed: it is run once more, with text. */
export function describeFailure(failed: Outcome, options: RunOptions = {}): string {
  const { theme, violation, lines } = runSeed(failed.seed, { keepsLines: 60, ...options });
  return [
    `seed ${failed.seed} (${theme}) breaks ${violation?.message ?? "nothing the second time: the run is not deterministic"}`,
    ...lines,
    `HOLDFAST_SEED=${failed.seed}${options.theme ? ` HOLDFAST_THEME=${options.theme}` : ""} npx vitest run test/simulation`,
  ].join("\n");
}
