import type { ComponentChildren } from "preact";

interface TileProps {
  readonly title: string;
  readonly value: ComponentChildren;
  readonly says?: ComponentChildren;
  readonly tone?: "bad" | "warn";
}

/** A row of figures that are looked at first. */
export function Tiles({ children }: { readonly children: ComponentChildren }) {
  return <div class="tiles">{children}</div>;
}

export function Tile({ title, value, says, tone }: TileProps) {
  return (
    <div class={tone === undefined ? "tile" : `tile tile-${tone}`}>
      <h2>{title}</h2>
      <p class="tile-value">{value}</p>
      {says === undefined ? null : <p class="tile-says">{says}</p>}
    </div>
  );
}
