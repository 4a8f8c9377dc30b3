import { link, lstat, rename, unlink } from "node:fs/promises";
import { codeOf, orGone } from "./error-code.js";

/** What a file system says that has no links. */
const linkless = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EINVAL"]);

/**
 * Gives a file another name, and answers false where that is taken, also where somebody else takes it just now. Who watches the
 * folder hears of a file that was made, not of one that was moved there. A process that ends in between leaves both names.
 */
export async function renameOverNothing(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
  } catch (error) {
    if (linkless.has(codeOf(error))) return await lookAndRename(from, to);
    // A mounted folder may have done it, and have been asked once more: then the file has both names.
    if (codeOf(error) !== "EEXIST") throw error;
    if (!(await isSameFile(from, to))) return false;
  }
  // It has its name. The old one, if it stays, is of no harm.
  await unlink(from).catch(() => undefined);
  return true;
}

async function isSameFile(one: string, other: string): Promise<boolean> {
  const [first, second] = await Promise.all([one, other].map(async (path) => await lstat(path, { bigint: true })));
  return first?.ino === second?.ino && first?.dev === second?.dev;
}

/** The same where nobody else gives names in that folder meanwhile. Who watches it hears of a file that was moved there. */
export async function lookAndRename(from: string, to: string): Promise<boolean> {
  const isFree = (await lstat(to).catch(orGone)) === null;
  if (isFree) await rename(from, to);
  return isFree;
}
