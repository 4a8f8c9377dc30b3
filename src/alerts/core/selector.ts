import type { Matcher } from "./expression.js";
import { type Labels, metricName } from "./labels.js";

export function matches(matchers: readonly Matcher[], labels: Labels): boolean {
  return matchers.every((matcher) => {
    const value = labels.get(matcher.label) ?? "";
    const isMatch = matcher.kind === "text" ? matcher.value === value : matcher.value.matches(value);
    return isMatch === matcher.equal;
  });
}

/** The one name that series can have here; null where it is not one. */
export function nameOf(matchers: readonly Matcher[]): string | null {
  for (const matcher of matchers) {
    if (matcher.kind === "text" && matcher.label === metricName && matcher.equal) return matcher.value;
  }
  return null;
}

/** Told from the text alone, so that most series of a round are never taken apart. */
export function hasName(series: string, name: string): boolean {
  return series.startsWith(name) && !/^[a-zA-Z0-9_:]/.test(series.charAt(name.length));
}
