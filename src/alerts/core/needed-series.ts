import { HoldfastError } from "../../errors.js";
import type { Expression, Matcher } from "./expression.js";

/** Series that a condition reads, and how far back before the time that it is evaluated at. */
export interface NeededSeries {
  readonly matchers: readonly Matcher[];
  readonly backMs: number;
}

export function selectorsOf(_expression: Expression): readonly NeededSeries[] {
  throw new HoldfastError("INTERNAL", "Not built yet.");
}

/** Whether somebody reads this series; named as in a round. */
export function isNeeded(_needed: readonly NeededSeries[], _series: string): boolean {
  throw new HoldfastError("INTERNAL", "Not built yet.");
}

/** How long a round is of use to any of them. */
export function keptMs(needed: readonly NeededSeries[]): number {
  return Math.max(0, ...needed.map(({ backMs }) => backMs));
}
