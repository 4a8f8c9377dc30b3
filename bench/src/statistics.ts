/** By nearest rank, so that every figure is one that was measured. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  if (value === undefined) throw new Error("there is nothing to take a percentile of");
  return value;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

export function msBetween(from: bigint, to: bigint): number {
  return Number(to - from) / 1e6;
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Of the straight line that is nearest to the points, by least squares. */
export function slopeOf(points: readonly (readonly [number, number])[]): number {
  const [x, y] = [mean(points.map(([at]) => at)), mean(points.map(([, value]) => value))];
  const together = points.reduce((sum, [at, value]) => sum + (at - x) * (value - y), 0);
  return together / points.reduce((sum, [at]) => sum + (at - x) ** 2, 0);
}
