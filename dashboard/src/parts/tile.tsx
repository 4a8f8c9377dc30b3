import type { ComponentChildren } from "preact";
import type { Tone } from "./badge.js";

interface TileProps {
  readonly title: string;
  readonly href: string;
  readonly value: ComponentChildren;
  readonly tone?: Tone;
  readonly children?: ComponentChildren;
}

/** One figure that matters, what it means beneath it, and the way to the rest. */
export function Tile({ title, href, value, tone = "quiet", children }: TileProps) {
  return (
    <a class={`tile tile-${tone}`} href={href}>
      <span class="tile-title">{title}</span>
      <strong class="tile-value num">{value}</strong>
      <span class="tile-says">{children}</span>
    </a>
  );
}
