import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

/** The width of an element in pixels, as it changes: drawings fit the screen they are on. */
export function useWidth(element: RefObject<Element | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const seen = element.current;
    if (seen === null) return;
    setWidth(seen.getBoundingClientRect().width);
    const observer = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0));
    observer.observe(seen);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
