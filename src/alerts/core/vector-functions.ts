import type { Expression, Matcher } from "./expression.js";
import { type Labels, labelsOf, metricName, noLabels, withoutName } from "./labels.js";
import type { Vector } from "./vector.js";

/** Each value turned into another; what it measures is another thing then, so the name goes. */
export function mapped(vector: Vector, turn: (value: number) => number): Vector {
  return vector.map(({ labels, value }) => ({ labels: withoutName(labels), value: turn(value) }));
}

export function rounded(value: number, toNearest: number): number {
  const inverse = 1 / toNearest;
  return Math.floor(value * inverse + 0.5) / inverse;
}

/** The higher of the two. An infinite one decides also against what is no number. */
export function higher(a: number, b: number): number {
  const top = Number.POSITIVE_INFINITY;
  return a === top || b === top ? top : Math.max(a, b);
}

export function lower(a: number, b: number): number {
  return -higher(-a, -b);
}

/** One series of 1 where there is none, with the labels that a selector asked for by their one value. */
export function absent(argument: Expression, vector: Vector): Vector {
  if (vector.length > 0) return [];
  const labels = argument.kind === "selector" ? statedLabels(argument.selector.matchers) : noLabels;
  return [{ labels, value: 1 }];
}

/** A label that is asked for once more, in whatever way, has no value that could be told. */
function statedLabels(matchers: readonly Matcher[]): Labels {
  const seen = new Set<string>();
  const stated = new Map<string, string>();
  for (const matcher of matchers.filter(({ label }) => label !== metricName)) {
    if (matcher.kind === "text" && matcher.equal && !seen.has(matcher.label)) {
      seen.add(matcher.label);
      stated.set(matcher.label, matcher.value);
    } else stated.delete(matcher.label);
  }
  return labelsOf(stated);
}
