import { keyOf, type Labels, metricName, without } from "./labels.js";
import type { Vector } from "./vector.js";

interface Bucket {
  readonly bound: number;
  readonly count: number;
}

/** The quantile of each histogram, told from its buckets: series that differ only in `le`. */
export function histogramQuantile(quantile: number, vector: Vector): Vector {
  const histograms = new Map<string, { readonly labels: Labels; readonly buckets: Bucket[] }>();
  for (const { labels, value } of vector) {
    const bound = boundOf(labels.get("le") ?? "");
    if (bound === null) continue;
    const key = keyOf(without(labels, ["le"]));
    const histogram = histograms.get(key) ?? { labels: without(labels, ["le", metricName]), buckets: [] };
    histograms.set(key, histogram);
    histogram.buckets.push({ bound, count: value });
  }
  return [...histograms.values()].map(({ labels, buckets }) => ({ labels, value: quantileOf(quantile, buckets) }));
}

function boundOf(le: string): number | null {
  if (/^\+?Inf$/i.test(le)) return Number.POSITIVE_INFINITY;
  if (/^-Inf$/i.test(le)) return Number.NEGATIVE_INFINITY;
  return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(le) ? Number(le) : null;
}

function quantileOf(quantile: number, given: readonly Bucket[]): number {
  if (Number.isNaN(quantile)) return Number.NaN;
  if (quantile < 0) return Number.NEGATIVE_INFINITY;
  if (quantile > 1) return Number.POSITIVE_INFINITY;
  const buckets = rising(given);
  const last = buckets.at(-1);
  if (last?.bound !== Number.POSITIVE_INFINITY || buckets.length < 2 || last.count === 0) return Number.NaN;
  const rank = quantile * last.count;
  const place = placeOf(rank, buckets);
  const found = buckets[place] ?? last;
  const before = buckets[place - 1];
  // Nobody knows how far beyond the last bound it is.
  if (place === buckets.length - 1) return before?.bound ?? Number.NaN;
  if (before === undefined) return found.bound <= 0 ? found.bound : found.bound * (rank / found.count);
  return before.bound + (found.bound - before.bound) * ((rank - before.count) / (found.count - before.count));
}

/** The first bucket, but for the last, that reaches the rank; by halving, so that a NaN leads where it leads Prometheus. */
function placeOf(rank: number, buckets: readonly Bucket[]): number {
  let low = 0;
  let high = buckets.length - 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((buckets[middle]?.count ?? 0) >= rank) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** By bound, one bucket a bound, and none with less than the one before: rates can make it look so. */
function rising(buckets: readonly Bucket[]): readonly Bucket[] {
  const merged: Bucket[] = [];
  for (const bucket of buckets.toSorted((a, b) => (a.bound === b.bound ? 0 : a.bound - b.bound))) {
    const last = merged.at(-1);
    if (last?.bound === bucket.bound) merged[merged.length - 1] = { ...last, count: last.count + bucket.count };
    else merged.push(bucket);
  }
  let most = merged[0]?.count ?? 0;
  return merged.map((bucket) => {
    if (bucket.count > most) most = bucket.count;
    return bucket.count < most ? { ...bucket, count: most } : bucket;
  });
}
