const width = 56;
const height = 20;

/** The last minute or so as a line. Shares from 0 to 1, oldest first; for the eye only, the figure stands beside it. */
export function Sparkline({ values }: { readonly values: readonly number[] }) {
  const points = pointsOf(values, width, height);
  if (points === "") return <svg class="sparkline" width={width} height={height} aria-hidden="true" />;
  return (
    <svg class="sparkline" width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      <polygon points={`${points} ${width},${height} ${firstX(points)},${height}`} />
      <polyline points={points} />
    </svg>
  );
}

/** The newest at the right edge; a line that has just begun is short. */
function pointsOf(values: readonly number[], wide: number, high: number): string {
  if (values.length < 2) return "";
  const step = wide / 59;
  const first = wide - (values.length - 1) * step;
  return values
    .map(
      (value, index) =>
        `${(first + index * step).toFixed(1)},${(high - 1 - Math.min(1, value) * (high - 2)).toFixed(1)}`,
    )
    .join(" ");
}

function firstX(points: string): string {
  return points.slice(0, points.indexOf(","));
}
