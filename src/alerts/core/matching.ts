import { calculate, compares, isComparison } from "./arithmetic.js";
import type { ArithmeticOperator, ComparisonOperator, Matching, SetOperator } from "./expression.js";
import { keyOf, type Labels, labelsOf, metricName, only, without, withoutName, writeSeries } from "./labels.js";
import { EvaluationFailure, type Sample, type Vector } from "./vector.js";

type ElementOperator = ArithmeticOperator | ComparisonOperator;

/** What two values make; null where they do not compare and are dropped. */
export function combine(operator: ElementOperator, bool: boolean, left: number, right: number): number | null {
  if (!isComparison(operator)) return calculate(operator, left, right);
  const holds = compares(operator, left, right);
  if (bool) return holds ? 1 : 0;
  return holds ? left : null;
}

/** By which labels series find each other. The metric's name counts only where it is asked for. */
function commonLabels({ on, labels: names }: Matching, labels: Labels): Labels {
  return on ? only(labels, names) : without(labels, [...names, metricName]);
}

export function combineSets(operator: SetOperator, left: Vector, right: Vector, matching: Matching): Vector {
  const keysOf = (vector: Vector): ReadonlySet<string> =>
    new Set(vector.map(({ labels }) => keyOf(commonLabels(matching, labels))));
  const isAmong = (keys: ReadonlySet<string>, { labels }: Sample): boolean =>
    keys.has(keyOf(commonLabels(matching, labels)));
  if (operator === "or") {
    const known = keysOf(left);
    return [...left, ...right.filter((sample) => !isAmong(known, sample))];
  }
  const known = keysOf(right);
  return left.filter((sample) => isAmong(known, sample) === (operator === "and"));
}

interface Pairing {
  readonly operator: ElementOperator;
  readonly bool: boolean;
  readonly matching: Matching;
}

/** Each series of one side with the one of the other that has the same labels. */
export function combineVectors(pairing: Pairing, left: Vector, right: Vector): Vector {
  if (left.length === 0 || right.length === 0) return [];
  const { operator, bool, matching } = pairing;
  const oneIsLeft = matching.group === "right";
  const [many, one] = oneIsLeft ? [right, left] : [left, right];
  const ones = soleByKey(one, matching, oneIsLeft ? "left" : "right");
  const taken = new Set<string>();
  const results: Sample[] = [];
  for (const sample of many) {
    const key = keyOf(commonLabels(matching, sample.labels));
    const partner = ones.get(key);
    if (partner === undefined) continue;
    const [first, second] = oneIsLeft ? [partner, sample] : [sample, partner];
    const value = combine(operator, bool, first.value, second.value);
    if (value === null) continue;
    const labels = resultLabels(pairing, sample.labels, partner.labels);
    const place = matching.group === "none" ? key : `${key} ${keyOf(labels)}`;
    if (taken.has(place)) {
      throw new EvaluationFailure(
        `several series match ${writeSeries(partner.labels)}; say so with group_left or group_right`,
      );
    }
    taken.add(place);
    results.push({ labels, value });
  }
  return results;
}

function soleByKey(vector: Vector, matching: Matching, side: "left" | "right"): ReadonlyMap<string, Sample> {
  const byKey = new Map<string, Sample>();
  for (const sample of vector) {
    const common = commonLabels(matching, sample.labels);
    const key = keyOf(common);
    if (byKey.has(key)) throw new EvaluationFailure(`several series on the ${side} side have ${writeSeries(common)}`);
    byKey.set(key, sample);
  }
  return byKey;
}

function resultLabels({ operator, bool, matching }: Pairing, many: Labels, one: Labels): Labels {
  let labels = isComparison(operator) && !bool ? many : withoutName(many);
  if (matching.group === "none") {
    labels = matching.on ? only(labels, matching.labels) : without(labels, matching.labels);
  }
  if (matching.include.length === 0) return labels;
  return labelsOf([...labels, ...matching.include.map((name) => [name, one.get(name) ?? ""] as const)]);
}
