import type { Regex } from "./regex.js";

/**
 * A condition as it is evaluated: the part of PromQL that docs/reference/promql.md describes. Whoever builds one has checked
 * its types, so that the evaluator can count on them.
 */
export type Expression =
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "selector"; readonly selector: Selector }
  | { readonly kind: "range"; readonly selector: Selector; readonly rangeMs: number }
  | { readonly kind: "negation"; readonly of: Expression }
  | { readonly kind: "call"; readonly name: FunctionName; readonly args: readonly Expression[] }
  | Aggregation
  | Binary;

export interface Aggregation {
  readonly kind: "aggregation";
  readonly operator: AggregationOperator;
  /** Which labels a group is made by: those named, or all but those named. */
  readonly by: boolean;
  readonly labels: readonly string[];
  readonly of: Expression;
}

export interface Binary {
  readonly kind: "binary";
  readonly operator: BinaryOperator;
  readonly left: Expression;
  readonly right: Expression;
  /** Answers 1 and 0 in place of dropping what does not compare. */
  readonly bool: boolean;
  readonly matching: Matching;
}

/** How the series of two sides find each other. */
export interface Matching {
  /** By the labels named, or by all but those named. */
  readonly on: boolean;
  readonly labels: readonly string[];
  readonly group: "none" | "left" | "right";
  /** Labels that are taken over from the side that has one series for many. */
  readonly include: readonly string[];
}

export interface Selector {
  readonly matchers: readonly Matcher[];
  readonly offsetMs: number;
}

/** The metric's name is the label `__name__`; a label that is not there is the empty text. */
export type Matcher =
  | { readonly kind: "text"; readonly label: string; readonly equal: boolean; readonly value: string }
  | { readonly kind: "regex"; readonly label: string; readonly equal: boolean; readonly value: Regex };

export type AggregationOperator = "sum" | "avg" | "min" | "max" | "count";
export type ArithmeticOperator = "+" | "-" | "*" | "/" | "%" | "^";
export type ComparisonOperator = "==" | "!=" | ">" | "<" | ">=" | "<=";
export type SetOperator = "and" | "or" | "unless";
export type BinaryOperator = ArithmeticOperator | ComparisonOperator | SetOperator;

export type RangeFunction =
  | "rate"
  | "increase"
  | "irate"
  | "delta"
  | "changes"
  | "resets"
  | "avg_over_time"
  | "min_over_time"
  | "max_over_time"
  | "sum_over_time"
  | "count_over_time"
  | "last_over_time";

export type FunctionName =
  | RangeFunction
  | "abs"
  | "ceil"
  | "floor"
  | "round"
  | "clamp_min"
  | "clamp_max"
  | "absent"
  | "histogram_quantile"
  | "scalar"
  | "vector"
  | "time";
