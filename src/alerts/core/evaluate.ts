import { invariant } from "../../errors.js";
import { aggregate } from "./aggregate.js";
import { isComparison, isSetOperator } from "./arithmetic.js";
import type { Binary, Expression, FunctionName, RangeFunction } from "./expression.js";
import { histogramQuantile } from "./histogram.js";
import { noLabels, withoutName } from "./labels.js";
import { combine, combineSets, combineVectors } from "./matching.js";
import { overTime } from "./range-functions.js";
import type { Samples } from "./samples.js";
import { EvaluationFailure, requireDistinct, type Sample, type Vector } from "./vector.js";
import { absent, higher, lower, mapped, rounded } from "./vector-functions.js";

type Value =
  | { readonly kind: "vector"; readonly samples: Vector }
  | { readonly kind: "scalar"; readonly value: number };

export type Evaluation =
  | Value
  /** The series at hand do not fit the condition, as where two match one. The reason is one line. */
  | { readonly kind: "failed"; readonly reason: string };

/** What the expression is at that time, as Prometheus 2.42 would answer. */
export function evaluate(expression: Expression, samples: Samples, atMs: number): Evaluation {
  try {
    return new Evaluator(samples, atMs).value(expression);
  } catch (error) {
    if (error instanceof EvaluationFailure) return { kind: "failed", reason: error.message };
    throw error;
  }
}

const vector = (samples: Vector): Value => ({ kind: "vector", samples });
const scalar = (value: number): Value => ({ kind: "scalar", value });

class Evaluator {
  private readonly samples: Samples;
  private readonly atMs: number;

  constructor(samples: Samples, atMs: number) {
    this.samples = samples;
    this.atMs = atMs;
  }

  value(expression: Expression): Value {
    switch (expression.kind) {
      case "number":
        return scalar(expression.value);
      case "selector":
        return vector(this.samples.at(expression.selector, this.atMs));
      case "negation":
        return this.negated(expression.of);
      case "aggregation":
        return vector(aggregate(expression, this.vectorOf(expression.of)));
      case "binary":
        return this.binary(expression);
      case "call":
        return this.call(expression.name, expression.args);
      case "range":
        invariant(false, "a range outside of a function");
    }
  }

  private vectorOf(expression: Expression | undefined): Vector {
    const value = expression === undefined ? null : this.value(expression);
    invariant(value?.kind === "vector", "a vector was promised");
    return value.samples;
  }

  private scalarOf(expression: Expression | undefined, fallback?: number): number {
    if (expression === undefined && fallback !== undefined) return fallback;
    const value = expression === undefined ? null : this.value(expression);
    invariant(value?.kind === "scalar", "a scalar was promised");
    return value.value;
  }

  private negated(of: Expression): Value {
    const value = this.value(of);
    if (value.kind === "scalar") return scalar(-value.value);
    return vector(requireDistinct(mapped(value.samples, (one) => -one)));
  }

  private binary(binary: Binary): Value {
    const left = this.value(binary.left);
    const right = this.value(binary.right);
    const { operator, bool, matching } = binary;
    if (isSetOperator(operator)) {
      invariant(left.kind === "vector" && right.kind === "vector", "sets are of vectors");
      return vector(requireDistinct(combineSets(operator, left.samples, right.samples, matching)));
    }
    if (left.kind === "vector" && right.kind === "vector") {
      return vector(requireDistinct(combineVectors({ operator, bool, matching }, left.samples, right.samples)));
    }
    if (left.kind === "scalar" && right.kind === "scalar") {
      return scalar(combine(operator, bool, left.value, right.value) ?? Number.NaN);
    }
    const keepsName = isComparison(operator) && !bool;
    const one = (sample: Sample): readonly Sample[] => {
      const [a, b] = left.kind === "scalar" ? [left.value, sample.value] : [sample.value, numberIn(right)];
      const value = combine(operator, bool, a, b);
      if (value === null) return [];
      // A comparison that only sifts leaves the series as it was, whichever side it stood on.
      return [keepsName ? sample : { labels: withoutName(sample.labels), value }];
    };
    const [series] = left.kind === "vector" ? [left.samples] : right.kind === "vector" ? [right.samples] : [[]];
    return vector(requireDistinct(series.flatMap(one)));
  }

  private call(name: FunctionName, args: readonly Expression[]): Value {
    const [first, second] = args;
    switch (name) {
      case "time":
        return scalar(this.atMs / 1000);
      case "vector":
        return vector([{ labels: noLabels, value: this.scalarOf(first) }]);
      case "scalar": {
        const [only, ...more] = this.vectorOf(first);
        return scalar(only === undefined || more.length > 0 ? Number.NaN : only.value);
      }
      case "absent":
        return vector(first === undefined ? [] : absent(first, this.vectorOf(first)));
      case "histogram_quantile":
        return vector(requireDistinct(histogramQuantile(this.scalarOf(first), this.vectorOf(second))));
      case "abs":
      case "ceil":
      case "floor":
      case "round":
      case "clamp_min":
      case "clamp_max":
        return vector(requireDistinct(mapped(this.vectorOf(first), this.turn(name, second))));
      default:
        return vector(this.overTime(name, first));
    }
  }

  private turn(name: ElementFunction, argument: Expression | undefined): (value: number) => number {
    switch (name) {
      case "abs":
        return Math.abs;
      case "ceil":
        return Math.ceil;
      case "floor":
        return Math.floor;
      case "round": {
        const toNearest = this.scalarOf(argument, 1);
        return (value) => rounded(value, toNearest);
      }
      case "clamp_min": {
        const least = this.scalarOf(argument);
        return (value) => higher(value, least);
      }
      case "clamp_max": {
        const most = this.scalarOf(argument);
        return (value) => lower(value, most);
      }
    }
  }

  private overTime(name: RangeFunction, range: Expression | undefined): Vector {
    invariant(range?.kind === "range", "a range was promised");
    const untilMs = this.atMs - range.selector.offsetMs;
    const stretches = this.samples.over(range.selector, range.rangeMs, this.atMs);
    const results = stretches.flatMap(({ labels, points: [first, ...later] }) => {
      if (first === undefined) return [];
      const value = overTime(name, { fromMs: untilMs - range.rangeMs, untilMs, points: [first, ...later] });
      return value === null ? [] : [{ labels: name === "last_over_time" ? labels : withoutName(labels), value }];
    });
    return requireDistinct(results);
  }
}

type ElementFunction = "abs" | "ceil" | "floor" | "round" | "clamp_min" | "clamp_max";

function numberIn(value: Value): number {
  invariant(value.kind === "scalar", "a scalar was promised");
  return value.value;
}
