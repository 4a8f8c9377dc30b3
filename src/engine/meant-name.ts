import { nearest } from "../config/nearest.js";

/** The end of a sentence about a name that is not known: the one that was probably meant, or, where they are few, all there are. */
export function meantOf(name: string, known: readonly string[]): string {
  if (known.length === 0) return ".";
  const all = known.map((one) => `"${one}"`);
  return all.length <= fewNames ? `: there ${all.length === 1 ? "is" : "are"} ${all.join(", ")}.` : guess(name, known);
}

const fewNames = 5;

function guess(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  return meant === null ? "." : `. Did you mean "${meant}"?`;
}
