import { HoldfastError } from "../../errors.js";
import type { AlertRule } from "./alert-rule.js";
import type { Evaluation } from "./evaluate.js";

/** One alert: what became of one resulting series of a rule. JSON all through. Times are milliseconds since 1970. */
export interface AlertState {
  /** The dedup key: the same on every node, at any time, for the same rule and labels. */
  readonly id: string;
  readonly rule: string;
  readonly state: "pending" | "firing" | "resolved";
  /** Those of the series and of the rule, with `alertname` and `severity`. */
  readonly labels: Readonly<Record<string, string>>;
  readonly summary: string;
  readonly value: number;
  readonly activeSince: number;
  readonly firedAt: number | null;
  /** A mark on one that fires. */
  readonly acknowledged: { readonly at: number; readonly by: string } | null;
  readonly resolvedAt: number | null;
  /** Null where the condition did not hold any more. */
  readonly resolvedBy: string | null;
  /** Resolved by hand, and the condition has held ever since: nothing is told of it. */
  readonly quiet: boolean;
  /** How many changes it has had so far; the number of the last one. */
  readonly changes: number;
}

/** Something that is told, once. */
export interface AlertChange {
  readonly id: string;
  /** 1, 2, 3 for the changes of one alert. */
  readonly number: number;
  readonly kind: "firing" | "acknowledged" | "resolved";
  readonly at: number;
  /** The alert after it. */
  readonly alert: AlertState;
}

export interface Advanced {
  readonly states: readonly AlertState[];
  readonly changes: readonly AlertChange[];
  /** Why nothing was changed, where the evaluation failed or gave too much. */
  readonly failed: string | null;
}

/** What identifies alerts: the cluster, and a hash of texts such as SHA-256 in hex. */
export interface AlertNaming {
  readonly cluster: string;
  readonly hash: (text: string) => string;
}

/** The next states of a rule's alerts, resolved ones included, and what is to be told. An inactive alert has no state. */
export function advance(
  _states: readonly AlertState[],
  _rule: AlertRule,
  _evaluation: Evaluation,
  _now: number,
  _naming: AlertNaming,
): Advanced {
  throw new HoldfastError("INTERNAL", "Not built yet.");
}

/** The alerts of a rule that is not there any more. */
export function retire(_states: readonly AlertState[], _now: number): Advanced {
  throw new HoldfastError("INTERNAL", "Not built yet.");
}

export type ByHand =
  | { readonly kind: "changed"; readonly state: AlertState; readonly change: AlertChange }
  /** It was so before: nothing is told again. */
  | { readonly kind: "unchanged"; readonly state: AlertState }
  /** It does not fire. */
  | { readonly kind: "refused"; readonly reason: string };

export function acknowledge(_state: AlertState, _by: string, _now: number): ByHand {
  throw new HoldfastError("INTERNAL", "Not built yet.");
}

/** Stays quiet until the condition has not held once. */
export function resolveByHand(_state: AlertState, _by: string, _now: number): ByHand {
  throw new HoldfastError("INTERNAL", "Not built yet.");
}
