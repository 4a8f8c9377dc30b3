import type { Expression, Matcher, Selector } from "./expression.js";
import { parseSeries } from "./labels.js";
import { lookbackMs } from "./samples.js";
import { hasName, matches, nameOf } from "./selector.js";

/** Series that a condition reads, and how far back before the time that it is evaluated at. */
export interface NeededSeries {
  readonly matchers: readonly Matcher[];
  readonly backMs: number;
}

export function selectorsOf(expression: Expression): readonly NeededSeries[] {
  const needed = ({ matchers, offsetMs }: Selector, rangeMs: number): readonly NeededSeries[] => [
    { matchers, backMs: offsetMs + rangeMs },
  ];
  switch (expression.kind) {
    case "number":
      return [];
    case "selector":
      return needed(expression.selector, lookbackMs);
    case "range":
      return needed(expression.selector, expression.rangeMs);
    case "negation":
    case "aggregation":
      return selectorsOf(expression.of);
    case "binary":
      return [...selectorsOf(expression.left), ...selectorsOf(expression.right)];
    case "call":
      return expression.args.flatMap(selectorsOf);
  }
}

/** Whether somebody reads this series; named as in a round. */
export function isNeeded(needed: readonly NeededSeries[], series: string): boolean {
  const asked = needed.filter(({ matchers }) => {
    const name = nameOf(matchers);
    return name === null || hasName(series, name);
  });
  if (asked.length === 0) return false;
  const labels = parseSeries(series);
  return labels !== null && asked.some(({ matchers }) => matches(matchers, labels));
}

/** How long a round is of use to any of them. */
export function keptMs(needed: readonly NeededSeries[]): number {
  return Math.max(0, ...needed.map(({ backMs }) => backMs));
}
