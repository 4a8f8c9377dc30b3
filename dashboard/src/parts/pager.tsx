import type { Paged } from "../api/paged.js";

/** Older and newer; nothing where all is on one page. */
export function Pager({ paged }: { readonly paged: Pick<Paged<unknown>, "number" | "older" | "newer"> }) {
  const { number, older, newer } = paged;
  if (older === undefined && newer === undefined) return null;
  return (
    <nav class="pager" aria-label="Pages">
      <button type="button" class="button" disabled={newer === undefined} onClick={newer}>
        ← Newer
      </button>
      <span class="num" aria-live="polite">
        Page {number}
      </span>
      <button type="button" class="button" disabled={older === undefined} onClick={older}>
        Older →
      </button>
    </nav>
  );
}
