import type { Sources } from "./load-config.js";

/** Sections and settings of the catalogue that are read and checked, and change nothing in this version. */
export const notYet: readonly string[] = ["shutdown.poll_interval_ms", "alerts", "notify"];

/** Those of them that somebody stated and may count on. */
export function statedNotYet(sources: Sources): readonly string[] {
  const stated = Object.keys(sources);
  const isOf = (name: string, key: string): boolean =>
    key === name || key.startsWith(`${name}.`) || key.startsWith(`${name}[`);
  return notYet.filter((name) => stated.some((key) => isOf(name, key)));
}

/** Null where nothing of that kind was stated. */
export function notYetLine(sources: Sources): string | null {
  const names = statedNotYet(sources);
  return names.length === 0 ? null : `not in this version yet: ${names.join(", ")}`;
}
