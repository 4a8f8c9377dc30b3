import { createStore, useStore } from "../api/store.js";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: "good" | "bad";
}

const shownMs = 6000;
const toasts = createStore<readonly Toast[]>([]);
let lastId = 0;

/** Says in a corner what became of an action, also to screen readers, and goes away by itself. */
export function toast(text: string, tone: Toast["tone"] = "good"): void {
  lastId += 1;
  const id = lastId;
  toasts.set([...toasts.get(), { id, text, tone }].slice(-4));
  setTimeout(() => toasts.set(toasts.get().filter((shown) => shown.id !== id)), shownMs);
}

export function Toasts() {
  const shown = useStore(toasts);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, tone }) => (
        <div key={id} class={`toast toast-${tone}`}>
          {text}
        </div>
      ))}
    </div>
  );
}
