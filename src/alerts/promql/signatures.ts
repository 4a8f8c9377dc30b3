import type { AggregationOperator, BinaryOperator, FunctionName, RangeFunction } from "../core/expression.js";

/** What an expression gives: one number, series with a value each, series over a stretch of time. */
export type ValueKind = "scalar" | "vector" | "range";

export interface Signature {
  readonly takes: readonly ValueKind[];
  /** How many of them, from the first, must be there. */
  readonly least: number;
  readonly gives: "scalar" | "vector";
}

const signature = (takes: readonly ValueKind[], gives: "scalar" | "vector" = "vector"): Signature => ({
  takes,
  least: takes.length,
  gives,
});
const ofRange = signature(["range"]);
const ofVector = signature(["vector"]);

const rangeFunctions: Readonly<Record<RangeFunction, Signature>> = {
  rate: ofRange,
  increase: ofRange,
  irate: ofRange,
  delta: ofRange,
  changes: ofRange,
  resets: ofRange,
  avg_over_time: ofRange,
  min_over_time: ofRange,
  max_over_time: ofRange,
  sum_over_time: ofRange,
  count_over_time: ofRange,
  last_over_time: ofRange,
};

const functions: Readonly<Record<FunctionName, Signature>> = {
  ...rangeFunctions,
  abs: ofVector,
  ceil: ofVector,
  floor: ofVector,
  round: { ...signature(["vector", "scalar"]), least: 1 },
  clamp_min: signature(["vector", "scalar"]),
  clamp_max: signature(["vector", "scalar"]),
  absent: ofVector,
  histogram_quantile: signature(["scalar", "vector"]),
  scalar: signature(["vector"], "scalar"),
  vector: signature(["scalar"]),
  time: signature([], "scalar"),
};

export const functionNames = Object.keys(functions) as readonly FunctionName[];
export const aggregationOperators: readonly AggregationOperator[] = ["sum", "avg", "min", "max", "count"];

/** From what binds least to what binds most. A sign binds like a product. */
const operatorsByTightness: readonly (readonly BinaryOperator[])[] = [
  ["or"],
  ["and", "unless"],
  ["==", "!=", ">", "<", ">=", "<="],
  ["+", "-"],
  ["*", "/", "%"],
  ["^"],
];

export const binaryOperators = operatorsByTightness.flat();
export const tightest = operatorsByTightness.length - 1;

export function tightnessOf(operator: BinaryOperator): number {
  return operatorsByTightness.findIndex((operators) => operators.includes(operator));
}

/** Null where conditions may not use a function of that name. */
export function signatureOf(name: string): { readonly name: FunctionName; readonly signature: Signature } | null {
  const known = functionNames.find((one) => one === name);
  return known === undefined ? null : { name: known, signature: functions[known] };
}
