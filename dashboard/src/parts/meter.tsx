import { formatPercent } from "../time/format.js";

interface MeterProps {
  readonly share: number;
  readonly label: string;
  /** The bar beneath the figure, where columns are many. */
  readonly narrow?: boolean;
}

/** A share of something, as a bar and in figures. */
export function Meter({ share, label, narrow = false }: MeterProps) {
  const within = Math.min(1, Math.max(0, share));
  const tone = within < 0.75 ? "calm" : within < 0.92 ? "warn" : "bad";
  return (
    <span class={narrow ? "meter meter-narrow" : "meter"} title={label}>
      <span class="bar" aria-hidden="true">
        <i class={`bar-fill fill-${tone}`} style={{ transform: `scaleX(${within.toFixed(3)})` }} />
      </span>
      <span class="num">{formatPercent(within)}</span>
    </span>
  );
}
