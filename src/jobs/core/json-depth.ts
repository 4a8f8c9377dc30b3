import type { Json } from "./job.js";

/** Whether arrays and objects are nested in each other more often than this. Goes no deeper than it has to. */
export function isDeeperThan(value: Json, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  const items: readonly Json[] = Array.isArray(value) ? (value as readonly Json[]) : Object.values(value);
  return items.some((item) => isDeeperThan(item, levels - 1));
}
