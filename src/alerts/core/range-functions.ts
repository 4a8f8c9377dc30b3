import type { RangeFunction } from "./expression.js";
import type { Point } from "./samples.js";

/** The stretch that a range selector asked for, and what came of one series in it. */
export interface Window {
  readonly fromMs: number;
  readonly untilMs: number;
  /** Oldest first, at least one. */
  readonly points: readonly [Point, ...Point[]];
}

/** Null where the window has too few points for an answer. */
export function overTime(name: RangeFunction, window: Window): number | null {
  const values = window.points.map(({ value }) => value);
  const [first, ...later] = window.points.map(({ value }) => value) as [number, ...number[]];
  switch (name) {
    case "rate":
      return perSecond(extrapolated(window, true), window);
    case "increase":
      return extrapolated(window, true);
    case "delta":
      return extrapolated(window, false);
    case "irate":
      return latestRate(window);
    case "changes":
      return countSteps(values, (before, after) => after !== before && !(Number.isNaN(before) && Number.isNaN(after)));
    case "resets":
      return countSteps(values, (before, after) => after < before);
    case "sum_over_time":
      return sum(values);
    case "avg_over_time":
      return average(values);
    case "min_over_time":
      return later.reduce((least, value) => (value < least || Number.isNaN(least) ? value : least), first);
    case "max_over_time":
      return later.reduce((most, value) => (value > most || Number.isNaN(most) ? value : most), first);
    case "count_over_time":
      return values.length;
    case "last_over_time":
      return later.at(-1) ?? first;
  }
}

/**
 * The growth within the points, stretched to the whole window as Prometheus does it: up to each end of the window where a
 * point is missing there only because of the rounds' rhythm, and by half a step where the series began or ended in between.
 * A counter is not stretched back beyond where it was zero.
 */
function extrapolated({ points, fromMs, untilMs }: Window, isCounter: boolean): number | null {
  const [first] = points;
  const last = points.at(-1);
  if (last === undefined || points.length < 2) return null;
  const growth = last.value - first.value + (isCounter ? lostByResets(points) : 0);
  const sampled = (last.at - first.at) / 1000;
  const step = sampled / (points.length - 1);
  const reach = step * 1.1;
  let toStart = (first.at - fromMs) / 1000;
  const toEnd = (untilMs - last.at) / 1000;
  if (isCounter && growth > 0 && first.value >= 0) toStart = Math.min(toStart, sampled * (first.value / growth));
  const stretch = sampled + (toStart < reach ? toStart : step / 2) + (toEnd < reach ? toEnd : step / 2);
  return growth * (stretch / sampled);
}

function lostByResets(points: readonly Point[]): number {
  let lost = 0;
  let before = 0;
  for (const { value } of points) {
    if (value < before) lost += before;
    before = value;
  }
  return lost;
}

function perSecond(growth: number | null, { fromMs, untilMs }: Window): number | null {
  return growth === null ? null : growth / ((untilMs - fromMs) / 1000);
}

/** Between the last two points; a counter that fell began anew at zero. */
function latestRate({ points }: Window): number | null {
  const last = points.at(-1);
  const before = points.at(-2);
  if (last === undefined || before === undefined) return null;
  const growth = last.value < before.value ? last.value : last.value - before.value;
  return growth / ((last.at - before.at) / 1000);
}

function countSteps(values: readonly number[], counts: (before: number, after: number) => boolean): number {
  return values.slice(1).filter((value, index) => counts(values[index] ?? Number.NaN, value)).length;
}

/** A sum, and what rounding has lost of it so far. */
interface Compensated {
  readonly sum: number;
  readonly lost: number;
}

function plus({ sum: before, lost }: Compensated, value: number): Compensated {
  const after = before + value;
  const dropped = Math.abs(before) >= Math.abs(value) ? before - after + value : value - after + before;
  return { sum: after, lost: lost + dropped };
}

const isInfinite = (value: number): boolean => Math.abs(value) === Number.POSITIVE_INFINITY;
const totalOf = ({ sum: total, lost }: Compensated): number => (isInfinite(total) ? total : total + lost);

const sum = (values: readonly number[]): number => totalOf(values.reduce(plus, { sum: 0, lost: 0 }));

function average(values: readonly number[]): number {
  let mean: Compensated = { sum: 0, lost: 0 };
  for (const [index, value] of values.entries()) {
    const count = index + 1;
    if (staysInfinite(mean.sum, value)) continue;
    mean = plus(mean, value / count - mean.sum / count);
  }
  return totalOf(mean);
}

/** A mean that is infinite stays so, unless the opposite infinity or no number at all comes. */
export function staysInfinite(mean: number, value: number): boolean {
  if (!isInfinite(mean) || Number.isNaN(value)) return false;
  return !isInfinite(value) || mean > 0 === value > 0;
}
