import { Coverage } from "./coverage.js";
import { checkEnd } from "./end-check.js";
import { Faults } from "./faults.js";
import { heal } from "./healing.js";
import type { QueueHooks } from "./hooks.js";
import { Operator } from "./operator.js";
import type { ThemeName } from "./scenario.js";
import { Simulation } from "./simulation.js";
import { QueueViolation } from "./violation.js";

export interface Outcome {
  readonly seed: number;
  readonly theme: ThemeName;
  readonly violation: QueueViolation | null;
  /** Of everything that happened, in order. */
  readonly hash: string;
  readonly events: number;
  readonly lines: readonly string[];
}

export interface RunOptions {
  readonly coverage?: Coverage;
  readonly hooks?: QueueHooks;
  readonly theme?: ThemeName;
  /** How many lines of the trace to keep. */
  readonly keepsLines?: number;
}

/** Runs one seed: a while of faults, the healing, and a last look at everything, with every rule checked at every step. */
export async function runSeed(seed: number, options: RunOptions = {}): Promise<Outcome> {
  const { coverage = new Coverage(), hooks = {}, theme = null, keepsLines = 0 } = options;
  const simulation = new Simulation({ seed, coverage, hooks, theme, keepsText: keepsLines > 0 });
  const { time, scenario, trace } = simulation;
  const operator = new Operator(simulation);
  const faults = new Faults(simulation, operator);
  let violation: QueueViolation | null = null;
  try {
    simulation.callers.start(scenario.callEveryMs);
    faults.start();
    await time.runUntil(scenario.faultsForMs);
    faults.end();
    await heal(simulation, operator);
    await checkEnd(simulation);
  } catch (error) {
    if (!(error instanceof QueueViolation)) throw error;
    violation = error;
    trace.note(time.now, -2, error.message, null);
  }
  const lines = trace.last(keepsLines);
  return { seed, theme: scenario.theme, violation, hash: trace.digest(), events: time.events, lines };
}

/** All that somebody needs to look into a failing seed: it is run once more, with text. */
export async function describeFailure(failed: Outcome, options: RunOptions = {}): Promise<string> {
  const { theme, violation, lines } = await runSeed(failed.seed, { keepsLines: 60, ...options });
  return [
    `seed ${failed.seed} (${theme}) breaks ${violation?.message ?? "nothing the second time: the run is not deterministic"}`,
    ...lines,
    `HOLDFAST_SEED=${failed.seed}${options.theme ? ` HOLDFAST_THEME=${options.theme}` : ""} npx vitest run test/simulation/queue`,
  ].join("\n");
}
