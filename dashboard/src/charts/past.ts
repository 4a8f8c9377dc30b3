import { useEffect, useRef } from "preact/hooks";

/** About five minutes, at a reading every five seconds. */
const mostPoints = 60;

/** Kept while the browser has the page, so that whoever comes back sees what happened before. */
const pasts = new Map<string, readonly number[]>();

/** Notes figures by their names whenever they were read anew, and tells how each of them went. */
export function usePast(
  figures: readonly (readonly [name: string, value: number])[],
  at: number | undefined,
): (name: string) => readonly number[] {
  const noted = useRef<number>(undefined);
  useEffect(() => {
    if (at === undefined || at === noted.current) return;
    noted.current = at;
    for (const [name, value] of figures) pasts.set(name, [...(pasts.get(name) ?? []), value].slice(-mostPoints));
  }, [figures, at]);
  return (name) => pasts.get(name) ?? [];
}
