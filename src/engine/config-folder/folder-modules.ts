import { readdir, realpath } from "node:fs/promises";

export type FolderModules =
  | { readonly kind: "found" /** Without links in it. */; readonly root: string; readonly files: readonly string[] }
  | { readonly kind: "rejected"; readonly problem: string };

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
    if (files.length > 0) return { kind: "found", root, files };
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
