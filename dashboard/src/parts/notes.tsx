import type { ComponentChildren } from "preact";
import type { ApiError } from "../api/api-error.js";
import type { Reading } from "../api/reading.js";
import { useNow } from "../time/clock.js";
import { formatAgo } from "../time/format.js";

/** What stands where nothing is. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children === undefined ? null : <p>{children}</p>}
    </div>
  );
}

export function ErrorNote({ error }: { readonly error: ApiError | undefined }) {
  if (error === undefined) return null;
  return (
    <div class="note note-bad" role="alert">
      {error.message}
      {error.status === 0 ? null : <code class="note-code">{error.code}</code>}
    </div>
  );
}

/** A hint that is there to be read, and interrupts nobody. */
export function Note({ children }: { readonly children: ComponentChildren }) {
  return <div class="note">{children}</div>;
}

export function Loading() {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">Loading</span>
    </div>
  );
}

/** How old what is shown is; loud only when it is old. */
export function Freshness({ reading }: { readonly reading: Pick<Reading<unknown>, "at" | "error"> }) {
  const now = useNow(1000);
  if (reading.at === undefined) return null;
  const age = now - reading.at;
  const old = age > 15_000 || reading.error !== undefined;
  return <span class={old ? "fresh fresh-old" : "fresh"}>{old ? `as of ${formatAgo(age)}` : "up to date"}</span>;
}
