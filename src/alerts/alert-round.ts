import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { StoredAlert } from "../store/alert-contract.js";
import { type Advanced, type AlertChange, type AlertState, advance, retire } from "./core/alert-state.js";
import { evaluate } from "./core/evaluate.js";
import type { Samples } from "./core/samples.js";
import type { RuleSet, WatchedRule } from "./rule-set.js";

export type Alerts = ReadonlyMap<string, StoredAlert>;

/** A change with what whoever is told needs to know beside it. */
export interface ToldChange {
  readonly change: AlertChange;
  readonly condition: string;
  readonly targets: readonly string[];
}

export interface RoundOutcome {
  /** All there are after it. */
  readonly alerts: Alerts;
  /** Those of them that are other than before. */
  readonly changed: readonly StoredAlert[];
  readonly gone: readonly string[];
  readonly changes: readonly ToldChange[];
  /** Rules that could not be evaluated, and why. */
  readonly failed: ReadonlyMap<string, string>;
}

/** Ids must be the same on every node. */
const hash = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 32);

interface RoundParts {
  readonly rules: RuleSet;
  readonly samples: Samples;
  readonly now: number;
  readonly cluster: string;
  /** Rules whose series are not at hand, and why: their alerts stay as they are. */
  readonly refused: ReadonlyMap<string, string>;
}

/** What becomes of all alerts at that time. It decides, and does nothing. */
export function alertRound(before: Alerts, parts: RoundParts): RoundOutcome {
  const { samples, now, cluster, refused } = parts;
  const { rules } = parts.rules;
  const failed = new Map<string, string>();
  const next = new Map<string, StoredAlert>();
  const changes: ToldChange[] = [];
  const take = (advanced: Advanced, about: (state: AlertState) => Pick<StoredAlert, "condition" | "targets">): void => {
    for (const state of advanced.states) next.set(state.id, { ...state, ...about(state) });
    for (const change of advanced.changes) changes.push({ change, ...about(change.alert) });
  };
  const known = new Map(rules.map((rule) => [rule.name, rule]));
  for (const rule of rules) {
    const states = [...before.values()].filter((alert) => alert.rule === rule.name);
    const reason = refused.get(rule.name);
    const evaluation =
      reason === undefined ? evaluate(rule.expression, samples, now) : ({ kind: "failed", reason } as const);
    const advanced = advance(states, rule, evaluation, now, { cluster, hash });
    if (advanced.failed !== null) failed.set(rule.name, advanced.failed);
    take(advanced, ({ id }) => aboutRule(rule, before.get(id)));
  }
  const orphans = [...before.values()].filter(({ rule }) => !known.has(rule));
  take(retire(orphans, now), ({ id }) => before.get(id) as StoredAlert);
  return { alerts: next, ...difference(before, next), changes, failed };
}

/** Whoever was told that it fires is told that it is over, also where the rule names others by now. */
function aboutRule({ condition, targets }: WatchedRule, before: StoredAlert | undefined) {
  const told = before?.state === "firing" ? before.targets : [];
  return { condition, targets: [...new Set([...targets, ...told])] };
}

function difference(before: Alerts, next: Alerts): Pick<RoundOutcome, "changed" | "gone"> {
  const changed = [...next.values()].filter((alert) => !isDeepStrictEqual(before.get(alert.id), alert));
  return { changed, gone: [...before.keys()].filter((id) => !next.has(id)) };
}
