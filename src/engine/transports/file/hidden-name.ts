import { randomBytes } from "node:crypto";

/** Older than any write: its writer is gone. */
const abandonedMs = 3_600_000;

/** A name for a file that is still being written. Who polls the folder does not look at those with a dot. */
export function hiddenName(): string {
  return `.holdfast-${randomBytes(8).toString("hex")}.tmp`;
}

/** Whether a file of this name and age was left behind by a leader that ended while it wrote. */
export function isAbandoned(name: string, ageMs: number): boolean {
  return ageMs > abandonedMs && /^\.holdfast-[0-9a-f]{16}\.tmp$/.test(name);
}
