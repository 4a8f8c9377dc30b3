import { createHash, randomBytes } from "node:crypto";

/** Older than any write: its writer is gone. */
const abandonedMs = 3_600_000;

/** A name for a file that is still being written. Who polls the folder does not look at those with a dot. */
export function hiddenName(): string {
  return `.holdfast-${randomBytes(8).toString("hex")}.tmp`;
}

const longestNameBytes = 220;

/** What is in a file. */
export const digestOf = (body: Buffer): string => createHash("sha256").update(body).digest("hex");

/** A name out of sight for a file that was read, and is about to be removed. It tells what was read, and the old name if there is room. */
export function asideName(name: string, digest: string | null): string {
  const mark = digest?.slice(0, 16) ?? randomBytes(8).toString("hex");
  return Buffer.byteLength(name) > longestNameBytes ? `.holdfast-${mark}.aside` : `.holdfast-${mark}.aside.${name}`;
}

/** The name that a file had before it was put aside, and whether this is what was read; null where it was not put aside. */
export function beforeAside(
  hidden: string,
): { readonly name: string; readonly wasRead: (body: Buffer) => boolean } | null {
  const { mark, name } = /^\.holdfast-(?<mark>[0-9a-f]{16})\.aside\.(?<name>.+)$/s.exec(hidden)?.groups ?? {};
  if (mark === undefined || name === undefined) return null;
  return { name, wasRead: (body) => digestOf(body).startsWith(mark) };
}

/** Whether a file of this name and age was left behind by a leader that ended while it wrote. */
export function isAbandoned(name: string, ageMs: number): boolean {
  return ageMs > abandonedMs && /^\.holdfast-[0-9a-f]{16}\.tmp$/.test(name);
}
