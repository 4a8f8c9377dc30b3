import { readFileSync } from "node:fs";

/** An entry of package-lock.json, as far as it matters here. */
export interface LockedPackage {
  readonly version: string;
  readonly optional?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/**
 * What somebody who installs the package gets with it, by its place in `node_modules`, in the versions that are locked here: all that
 * the package depends on, itself left out. Those of other platforms are among them, as npm lists them too.
 */
export function productionPackages(lockPath: string): ReadonlyMap<string, LockedPackage> {
  const { packages } = JSON.parse(readFileSync(lockPath, "utf8")) as Lock;
  const found = new Map<string, LockedPackage>();
  const visit = (folder: string): void => {
    const parent = packages[folder];
    for (const name of Object.keys({ ...parent?.dependencies, ...parent?.optionalDependencies })) {
      const place = resolve(packages, folder, name);
      const entry = packages[place];
      if (entry === undefined) throw new Error(`package-lock.json lacks ${name}, which ${folder} needs`);
      if (found.has(place)) continue;
      found.set(place, entry);
      visit(place);
    }
  };
  visit("");
  return found;
}

/** As Node resolves it: below the parent, or beside any folder above it. */
function resolve(packages: Lock["packages"], parent: string, name: string): string {
  for (let folder = parent; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const place = `${folder === "" ? "" : `${folder}/`}node_modules/${name}`;
    if (packages[place] !== undefined || folder === "") return place;
  }
}
