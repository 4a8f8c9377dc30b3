import type { ComponentChildren } from "preact";
import type { Tone } from "./badge.js";

interface TileProps {
  readonly title: string;
  readonly href: string;
  readonly value: ComponentChildren;
  readonly tone?: Tone;
  /** What is shown could not be read again since. */
  readonly old?: boolean;
  readonly children?: ComponentChildren;
}

/** One figure that matters, what it means beneath it, and the way to the rest. */
export function Tile({ title, href, value, tone = "quiet", old = false, children }: TileProps) {
  return (
    <a class={`tile tile-${tone} ${old ? "tile-old" : ""}`} href={href}>
      <span class="tile-title">
        {title}
        {old ? ", as it was" : ""}
      </span>
      <strong class="tile-value num">{value}</strong>
      <span class="tile-says">{children}</span>
    </a>
  );
}
