/** Where the dots of a chart of gaps lie: time to the right, length upwards, by powers of ten. */
export interface Plot {
  readonly width: number;
  readonly height: number;
  readonly from: number;
  readonly to: number;
}

const shortestMs = 1;
const longestMs = 60_000;

/** What the lines across stand for. */
export const lines = [1, 10, 100, 1000, 10_000] as const;

export function xOf({ width, from, to }: Plot, at: number): number {
  return ((at - from) / (to - from)) * width;
}

/** What is shorter or longer than the scale lies on its edge. */
export function yOf({ height }: Plot, lengthMs: number): number {
  const within = Math.min(longestMs, Math.max(shortestMs, lengthMs));
  return height - (Math.log10(within / shortestMs) / Math.log10(longestMs / shortestMs)) * height;
}

export function lineLabel(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${ms / 1000} s`;
}
