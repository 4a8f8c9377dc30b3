import type { ComponentChildren } from "preact";

export type Tone = "good" | "warn" | "bad" | "info" | "quiet";

/** A state in one word. The dot is for the eye, the word for everybody. */
export function Badge({ tone = "quiet", children }: { readonly tone?: Tone; readonly children: ComponentChildren }) {
  return <span class={`badge badge-${tone}`}>{children}</span>;
}
