import { link, lstat, rename, unlink } from "node:fs/promises";
import { codeOf, orGone } from "./error-code.js";

/** What a file system says that has no links. */
const linkless = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EINVAL"]);

/** Where there are no links, one after the other: only the process that leads gives names. */
let turn: Promise<unknown> = Promise.resolve();

/**
 * Gives a file another name, and answers false where that is taken: whoever looks first and renames then replaces what somebody
 * else has put there meanwhile. A process that ends between the two steps leaves the file under both names.
 */
export async function renameOverNothing(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
  } catch (error) {
    if (linkless.has(codeOf(error))) return await inTurn(async () => await lookAndRename(from, to));
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

async function lookAndRename(from: string, to: string): Promise<boolean> {
  const isFree = (await lstat(to).catch(orGone)) === null;
  if (isFree) await rename(from, to);
  return isFree;
}

async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  const done = turn.then(work);
  turn = done.catch(() => undefined);
  return await done;
}
