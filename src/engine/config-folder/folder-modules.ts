import type { Dirent } from "node:fs";
import { readdir, realpath } from "node:fs/promises";
import { join, sep } from "node:path";

export interface FoundModules {
  readonly kind: "found";
  /** Without links in it. */
  readonly root: string;
  readonly files: readonly string[];
  /** Where a file is in the folder by its name there, and not by where a link leads; null where there are no links. */
  readonly inFolder: ((path: string) => string) | null;
}

type FolderModules = FoundModules | { readonly kind: "rejected"; readonly problem: string };

const moduleName = /\.[cm]?[jt]s$/;
/** Declarations, tests, and what its author keeps to the modules themselves. */
const notLoaded = /^[._]|\.d\.[cm]?ts$|\.(?:test|spec)\.[cm]?[jt]s$/;

/** The modules at the top of a folder, by name. What is deeper belongs to those that import it. */
export async function modulesOf(folder: string): Promise<FolderModules> {
  try {
    const root = await realpath(folder);
    const entries = await readdir(root, { withFileTypes: true });
    const files = entries
      .filter((entry) => !entry.isDirectory() && moduleName.test(entry.name) && !notLoaded.test(entry.name))
      .map(({ name }) => name)
      .sort();
    if (files.length > 0) return { kind: "found", root, files, inFolder: await unlinking(root, entries) };
    return rejected(
      folder,
      "has no module: put a .ts or .js file into it that exports what defineInbound and the others make.",
    );
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return rejected(folder, "is not there: make it, or name another.");
    if (code === "ENOTDIR") return rejected(folder, "is not a folder: name the one that holds the modules.");
    return rejected(folder, `cannot be read (${code ?? String(error)}).`);
  }
}

function rejected(folder: string, why: string): FolderModules {
  return { kind: "rejected", problem: `The config folder ${folder} ${why}` };
}

/**
 * A volume of Kubernetes shows its files through links into a folder whose name is the time of the last change: what is behind
 * a link has to count as what the link is called, or no two nodes would ever say the same.
 */
async function unlinking(root: string, entries: readonly Dirent[]): Promise<FoundModules["inFolder"]> {
  const links = entries.filter((entry) => entry.isSymbolicLink() && !/^\.|^node_modules$/.test(entry.name));
  if (links.length === 0) return null;
  const known = await Promise.all(
    links.map(async ({ name }) => {
      const shown = join(root, name);
      // One that leads nowhere is found out by whoever imports it.
      return { shown, real: await realpath(shown).catch(() => shown) };
    }),
  );
  return (path) => {
    const link = known.find(({ real }) => path === real || path.startsWith(real + sep));
    return link === undefined ? path : link.shown + path.slice(link.real.length);
  };
}
