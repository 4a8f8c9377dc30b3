import type { Paged } from "../api/paged.js";

interface PagerProps {
  readonly paged: Pick<Paged<unknown>, "number" | "older" | "newer">;
  /** Not by time, but by name: what comes next is not older. */
  readonly byName?: boolean;
}

/** Older and newer; nothing where all is on one page. */
export function Pager({ paged, byName = false }: PagerProps) {
  const { number, older, newer } = paged;
  if (older === undefined && newer === undefined) return null;
  return (
    <nav class="pager" aria-label="Pages of the list">
      <button type="button" class="button" disabled={newer === undefined} onClick={newer}>
        ← {byName ? "Back" : "Newer"}
      </button>
      <span class="num" aria-live="polite">
        Page {number}
      </span>
      <button type="button" class="button" disabled={older === undefined} onClick={older}>
        {byName ? "Next" : "Older"} →
      </button>
    </nav>
  );
}
