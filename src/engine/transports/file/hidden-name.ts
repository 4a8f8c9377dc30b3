import { randomBytes } from "node:crypto";

/** Older than any write: its writer is gone. */
const abandonedMs = 3_600_000;

/** A name for a file that is still being written. Who polls the folder does not look at those with a dot. */
export function hiddenName(): string {
  return `.holdfast-${randomBytes(8).toString("hex")}.tmp`;
}

const longestNameBytes = 220;

/** A name out of sight for a file that is about to be removed. It tells the old one, where there is room for that. */
export function asideName(name: string): string {
  if (Buffer.byteLength(name) > longestNameBytes) return `.holdfast-${randomBytes(8).toString("hex")}.aside`;
  return `.holdfast-${randomBytes(8).toString("hex")}.aside.${name}`;
}

/** The name that a file had before it was put aside; null where it was not. */
export function nameBeforeAside(name: string): string | null {
  return /^\.holdfast-[0-9a-f]{16}\.aside\.(?<name>.+)$/s.exec(name)?.groups?.name ?? null;
}

/** Whether a file of this name and age was left behind by a leader that ended while it wrote. */
export function isAbandoned(name: string, ageMs: number): boolean {
  return ageMs > abandonedMs && /^\.holdfast-[0-9a-f]{16}\.tmp$/.test(name);
}
