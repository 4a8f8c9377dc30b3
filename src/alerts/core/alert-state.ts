import type { AlertRule } from "./alert-rule.js";
import type { Evaluation } from "./evaluate.js";
import { keyOf, type Labels, labelsOf, withoutName } from "./labels.js";
import { filledIn } from "./summary.js";

/**
 * One alert: what became of one resulting series of a rule. Times are milliseconds since 1970. JSON all
 * through, but for a value that is not finite.
 */
export interface AlertState {
  /** The dedup key: the same on every node, at any time, for the same rule and labels. */
  readonly id: string;
  readonly rule: string;
  readonly state: "pending" | "firing" | "resolved";
  /** Those of the series and of the rule, with `alertname` and `severity`. */
  readonly labels: Readonly<Record<string, string>>;
  readonly summary: string;
  readonly value: number;
  /** Since when the condition holds, or held last. */
  readonly activeSince: number;
  /** When it last fired; of one that is pending, the time before. */
  readonly firedAt: number | null;
  /** A mark on one that fires, or fired. */
  readonly acknowledged: { readonly at: number; readonly by: string } | null;
  /** When it was last resolved. */
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
  /** 1, 2, 3 for the changes of one alert, for as long as its state is kept. */
  readonly number: number;
  readonly kind: "firing" | "acknowledged" | "resolved";
  readonly at: number;
  /** The alert after it. */
  readonly alert: AlertState;
}

export interface Advanced {
  readonly states: readonly AlertState[];
  readonly changes: readonly AlertChange[];
  /** Why nothing was changed, where the evaluation failed or gave too much. One line. */
  readonly failed: string | null;
}

/** What identifies alerts: the cluster, and a hash of texts such as SHA-256 in hex. */
export interface AlertNaming {
  readonly cluster: string;
  readonly hash: (text: string) => string;
}

/** More alerts than this of one rule help nobody, and each of them would be sent. */
export const mostAlerts = 200;

/**
 * The next states of a rule's alerts, resolved ones included, and what is to be told. An alert that is inactive has no state,
 * unless it was firing before. Where the condition cannot be evaluated, everything stays as it is.
 */
export function advance(
  states: readonly AlertState[],
  rule: AlertRule,
  evaluation: Evaluation,
  now: number,
  naming: AlertNaming,
): Advanced {
  const found = heldAlerts(rule, evaluation, naming);
  if (typeof found === "string") return { states, changes: [], failed: found };
  const changes: AlertChange[] = [];
  const next: AlertState[] = [];
  const keep = (step: Step | null): void => {
    if (step === null) return;
    next.push(step.state);
    if (step.change !== null) changes.push(step.change);
  };
  const known = new Set(states.map(({ id }) => id));
  for (const state of states) {
    const held = found.get(state.id);
    keep(held === undefined ? gone(state, now) : holding(state, held, rule, now));
  }
  for (const [id, held] of found) {
    if (!known.has(id)) keep(begun(id, held, rule, now));
  }
  return { states: next, changes, failed: null };
}

/** The alerts of a rule that is not there any more: what fires is resolved. */
export function retire(states: readonly AlertState[], now: number): Advanced {
  const steps = states.flatMap((state) => gone(state, now) ?? []);
  return {
    states: steps.map(({ state }) => state),
    changes: steps.flatMap(({ change }) => (change === null ? [] : [change])),
    failed: null,
  };
}

interface Held {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

interface Step {
  readonly state: AlertState;
  readonly change: AlertChange | null;
}

/** What holds now, by the alerts' ids; or why that cannot be told. */
function heldAlerts(rule: AlertRule, evaluation: Evaluation, naming: AlertNaming): ReadonlyMap<string, Held> | string {
  if (evaluation.kind === "failed") return evaluation.reason;
  if (evaluation.kind === "scalar") return "it gives a mere number";
  const { samples } = evaluation;
  if (samples.length > mostAlerts) return `it holds for ${samples.length} series; the limit is ${mostAlerts}`;
  const found = new Map<string, Held>();
  for (const sample of samples) {
    const labels = alertLabels(rule, sample.labels);
    const id = naming.hash(JSON.stringify([naming.cluster, rule.name, keyOf(labels)]));
    if (found.has(id)) return "its own labels make two series into one alert";
    found.set(id, { labels: Object.fromEntries(labels), value: sample.value });
  }
  return found;
}

function alertLabels(rule: AlertRule, series: Labels): Labels {
  return labelsOf([
    ...withoutName(series),
    ["severity", rule.severity],
    ...Object.entries(rule.labels),
    ["alertname", rule.name],
  ]);
}

function begun(id: string, held: Held, rule: AlertRule, now: number): Step {
  const { labels, value } = held;
  const summary = filledIn(rule.summary, labels, value);
  const idle = { firedAt: null, acknowledged: null, resolvedAt: null, resolvedBy: null, quiet: false, changes: 0 };
  const state: AlertState = {
    id,
    rule: rule.name,
    state: "pending",
    labels,
    summary,
    value,
    activeSince: now,
    ...idle,
  };
  return ripened(state, rule, now);
}

function holding(before: AlertState, held: Held, rule: AlertRule, now: number): Step {
  if (before.quiet) return { state: before, change: null };
  const told = { ...held, summary: filledIn(rule.summary, held.labels, held.value) };
  // A clock that was set back must not keep an alert from ripening.
  const activeSince = before.state === "resolved" ? now : Math.min(before.activeSince, now);
  const state = { ...before, ...told, activeSince };
  if (before.state === "firing") return { state, change: null };
  return ripened({ ...state, state: "pending" }, rule, now);
}

function ripened(pending: AlertState, rule: AlertRule, now: number): Step {
  if (now - pending.activeSince < rule.forMs) return { state: pending, change: null };
  return changed(
    { ...pending, state: "firing", firedAt: now, acknowledged: null, resolvedAt: null, resolvedBy: null },
    "firing",
    now,
  );
}

/** Null where nothing is left to remember. */
function gone(before: AlertState, now: number): Step | null {
  switch (before.state) {
    case "firing":
      return changed({ ...before, state: "resolved", resolvedAt: now, resolvedBy: null }, "resolved", now);
    case "pending":
      // One that has fired before is what it was then: its changes go on being counted.
      return before.changes === 0 ? null : { state: { ...before, state: "resolved" }, change: null };
    case "resolved":
      return { state: { ...before, quiet: false }, change: null };
  }
}

function changed(state: AlertState, kind: AlertChange["kind"], at: number): Step & { readonly change: AlertChange } {
  const alert = { ...state, changes: state.changes + 1 };
  return { state: alert, change: { id: alert.id, number: alert.changes, kind, at, alert } };
}

export type ByHand =
  | { readonly kind: "changed"; readonly state: AlertState; readonly change: AlertChange }
  /** It was so before: nothing is told again. */
  | { readonly kind: "unchanged"; readonly state: AlertState }
  /** It does not fire. The reason is a sentence. */
  | { readonly kind: "refused"; readonly reason: string };

export function acknowledge(state: AlertState, by: string, now: number): ByHand {
  if (state.state !== "firing") return { kind: "refused", reason: notFiring(state) };
  if (state.acknowledged !== null) return { kind: "unchanged", state };
  return { kind: "changed", ...changed({ ...state, acknowledged: { at: now, by } }, "acknowledged", now) };
}

/** Stays quiet until the condition has not held once. */
export function resolveByHand(state: AlertState, by: string, now: number): ByHand {
  if (state.state === "resolved") return { kind: "unchanged", state };
  if (state.state === "pending") return { kind: "refused", reason: notFiring(state) };
  const resolved = { ...state, state: "resolved", resolvedAt: now, resolvedBy: by, quiet: true } as const;
  return { kind: "changed", ...changed(resolved, "resolved", now) };
}

function notFiring({ state, rule }: AlertState): string {
  return `The alert ${rule} does not fire; it is ${state}.`;
}
