import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface PanelProps {
  readonly title?: string;
  /** Beside the title: a count, a freshness, a few buttons. */
  readonly aside?: ComponentChildren;
  readonly flush?: boolean;
  readonly children: ComponentChildren;
}

/** A framed part of a page. `flush`: its content, a table mostly, reaches the frame. */
export function Panel({ title, aside, flush = false, children }: PanelProps) {
  const id = useId();
  return (
    <section class={flush ? "panel panel-flush" : "panel"} {...(title === undefined ? {} : { "aria-labelledby": id })}>
      {title === undefined ? null : (
        <header class="panel-head">
          <h2 id={id}>{title}</h2>
          {aside === undefined ? null : <div class="panel-aside">{aside}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

/** The head of a page: what it is about in one sentence, and what can be done with all of it. */
export function PageHead({ title, says, children }: { title: string; says?: string; children?: ComponentChildren }) {
  return (
    <header class="page-head">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        {says === undefined ? null : <p class="page-says">{says}</p>}
      </div>
      {children === undefined ? null : <div class="page-actions">{children}</div>}
    </header>
  );
}
