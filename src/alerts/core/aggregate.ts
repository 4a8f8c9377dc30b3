import type { Aggregation, AggregationOperator } from "./expression.js";
import { keyOf, type Labels, metricName, only, without } from "./labels.js";
import { staysInfinite } from "./range-functions.js";
import type { Vector } from "./vector.js";

/** One series for each group of series whose labels agree. */
export function aggregate({ operator, by, labels: names }: Aggregation, vector: Vector): Vector {
  const groups = new Map<string, { readonly labels: Labels; readonly values: number[] }>();
  for (const { labels, value } of vector) {
    const kept = by ? only(labels, names) : without(labels, [...names, metricName]);
    const key = keyOf(kept);
    const group = groups.get(key) ?? { labels: kept, values: [] };
    groups.set(key, group);
    group.values.push(value);
  }
  return [...groups.values()].map(({ labels, values }) => ({ labels, value: together(operator, values) }));
}

function together(operator: AggregationOperator, values: readonly number[]): number {
  switch (operator) {
    case "sum":
      return values.reduce((sum, value) => sum + value, 0);
    case "avg":
      return mean(values);
    case "min":
      return values.reduce((least, value) => (value < least || Number.isNaN(least) ? value : least), Number.NaN);
    case "max":
      return values.reduce((most, value) => (value > most || Number.isNaN(most) ? value : most), Number.NaN);
    case "count":
      return values.length;
  }
}

/** Step by step, so that no sum overflows on the way. */
function mean(values: readonly number[]): number {
  let result = 0;
  for (const [index, value] of values.entries()) {
    const count = index + 1;
    if (!staysInfinite(result, value)) result += value / count - result / count;
  }
  return result;
}
