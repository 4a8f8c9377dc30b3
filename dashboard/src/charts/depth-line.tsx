interface DepthLineProps {
  readonly values: readonly number[];
  /** Said to those who cannot see it. */
  readonly label: string;
}

const width = 120;
const height = 28;

/** How deep something was, without axes: from zero to its deepest. */
export function DepthLine({ values, label }: DepthLineProps) {
  const highest = Math.max(1, ...values);
  const step = width / Math.max(1, values.length - 1);
  const points = values.map((value, index) => {
    const y = height - 1 - (value / highest) * (height - 3);
    return `${(index * step).toFixed(1)},${y.toFixed(1)}`;
  });
  const line = points.length === 1 ? [...points, `${width},${points[0]?.split(",")[1] ?? height}`] : points;
  return (
    <svg class="depth-line" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <polygon points={`0,${height} ${line.join(" ")} ${width},${height}`} />
      <polyline points={line.join(" ")} />
    </svg>
  );
}
