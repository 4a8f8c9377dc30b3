/** What is looked at, in the order in which it is told. */
export const checks = [
  "database",
  "schema",
  "permissions",
  "pooler",
  "tls",
  "timeline",
  "clocks",
  "timings",
  "connections",
  "xmin_horizon",
  "settings",
  "cluster",
] as const;

export type Check = (typeof checks)[number];

/** ok: as it should be. warning: works, but slower or less safely than it could. problem: does not work, or not for long. */
export type Verdict = "ok" | "warning" | "problem";

export interface Finding {
  readonly check: Check;
  readonly verdict: Verdict;
  readonly message: string;
  /** What to do about it; every problem has it. */
  readonly advice?: string;
}

export function ok(check: Check, message: string): Finding {
  return { check, verdict: "ok", message };
}

export function warning(check: Check, message: string, advice: string): Finding {
  return { check, verdict: "warning", message, advice };
}

export function problem(check: Check, message: string, advice: string): Finding {
  return { check, verdict: "problem", message, advice };
}

/** What a check found wrong, or the one line that says that it is fine. */
export function orOk(found: readonly Finding[], fine: Finding): readonly Finding[] {
  return found.length > 0 ? found : [fine];
}
