import type { ComponentChildren } from "preact";

interface ScrollAreaProps {
  readonly label: string;
  readonly kind: string;
  readonly children: ComponentChildren;
}

/** Text that is too long for its place. Whoever has no mouse scrolls it by the keys, and must be able to get there. */
export function ScrollArea({ label, kind, children }: ScrollAreaProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard.
    <section class={`code ${kind}`} aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
