import { useRef } from "preact/hooks";
import type { Transition } from "../api/cluster.js";
import { useWidth } from "../parts/width.js";
import { formatGap, formatTime } from "../time/format.js";
import { ticksOf } from "../timeline/geometry.js";
import { reasonInWords, toneOf } from "../timeline/reasons.js";
import { lineLabel, lines, type Plot, xOf, yOf } from "./gap-plot.js";

const height = 132;
const left = 52;
const bottom = 20;
const top = 8;
const labelPx = 34;

interface GapChartProps {
  /** Those that ended a gap. */
  readonly elections: readonly Transition[];
  readonly from: number;
  readonly to: number;
}

/** Each gap a dot: when, and how long. The history table says the same in words. */
export function GapChart({ elections, from, to }: GapChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const plot: Plot = { width: Math.max(0, width - left - 8), height: height - bottom - top, from, to };
  const ticks = ticksOf({ from, to }, plot.width, 70, -new Date(to).getTimezoneOffset() * 60_000).filter(
    ({ at }) => plot.width - xOf(plot, at) > labelPx / 2,
  );
  return (
    <div ref={frame} class="gap-chart">
      <svg width={width} height={height} role="img" aria-label={`${elections.length} gaps over the last day`}>
        <g transform={`translate(${left} ${top})`}>
          {lines.map((ms) => (
            <g key={ms} transform={`translate(0 ${yOf(plot, ms).toFixed(1)})`}>
              <line x2={plot.width} class="chart-line" />
              <text x={-8} dy="0.32em" class="chart-text chart-text-end">
                {lineLabel(ms)}
              </text>
            </g>
          ))}
          {ticks.map(({ at, label }) => (
            <text key={at} x={xOf(plot, at)} y={plot.height + 16} class="chart-text chart-text-middle">
              {label}
            </text>
          ))}
          {elections.map((line) => (
            <Dot key={line.id} line={line} plot={plot} />
          ))}
        </g>
      </svg>
    </div>
  );
}

function Dot({ line, plot }: { readonly line: Transition; readonly plot: Plot }) {
  const ms = (line.gap_seconds ?? 0) * 1000;
  const x = xOf(plot, line.at * 1000).toFixed(1);
  const y = yOf(plot, ms);
  return (
    <g class={`chart-dot dot-${toneOf(line)}`}>
      <title>{`${formatTime(line.at * 1000, plot.to, true)} ${line.role}: ${formatGap(ms)}, ${reasonInWords(line.reason)}`}</title>
      <line x1={x} x2={x} y1={y.toFixed(1)} y2={plot.height} />
      <circle cx={x} cy={y.toFixed(1)} r={3.5} />
    </g>
  );
}
