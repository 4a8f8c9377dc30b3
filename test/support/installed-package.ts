import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { repositoryRoot } from "./demo-process.js";
import { productionPackages } from "./production-packages.js";

const run = promisify(execFile);
/** Outside of the repository, whose own node_modules would stand in for a dependency that the package forgot to name. */
const cache = join(tmpdir(), `holdfast-installed-${userInfo().username}`);
const keptMs = 3_600_000;
/** Once a process, whose tests may run at the same time: two builds would be in each other's way. */
const made = new Map<boolean, Promise<string>>();

/** The environment of somebody who has just installed the package: nothing of npm's, of vitest's or of ours is set. */
export function newcomerEnvironment(): NodeJS.ProcessEnv {
  const foreign = /^(npm_|NPM_|HOLDFAST_|VITEST|NODE_|INIT_CWD|PG|TEST|DEV|PROD|MODE|SSR|BASE_URL)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}

/** Packs the repository as it is built now, into this folder, and answers the tarball's path. */
export async function packInto(folder: string): Promise<string> {
  await run(process.execPath, ["scripts/build.mjs"], { cwd: repositoryRoot, env: newcomerEnvironment() });
  const args = ["pack", "--ignore-scripts", "--json", "--pack-destination", folder];
  const { stdout } = await run("npm", args, { cwd: repositoryRoot, env: newcomerEnvironment() });
  const [packed] = JSON.parse(stdout) as readonly { readonly filename: string }[];
  if (packed === undefined) throw new Error("npm packed nothing");
  return join(folder, packed.filename);
}

/**
 * A folder whose node_modules hold the packed package and what it depends on, in the versions of our own lock: so that neither a
 * release of somebody else's nor a registry that is away changes what a test says, once npm has these in its cache. It is made
 * once for each state of the package, shared by all tests and processes, and not to be written to.
 */
export function installedPackage({ optional = true } = {}): Promise<string> {
  const promise = made.get(optional) ?? makeInstalledPackage(optional);
  made.set(optional, promise);
  return promise;
}

async function makeInstalledPackage(optional: boolean): Promise<string> {
  const built = join(cache, `${await stateOfPackage()}${optional ? "" : "-without-optional"}`);
  if (!existsSync(built)) await install(built, optional ? [] : ["--omit=optional"]);
  const now = new Date();
  await utimes(built, now, now);
  return built;
}

async function install(into: string, options: readonly string[]): Promise<void> {
  await mkdir(cache, { recursive: true });
  await removeOld();
  const draft = await mkdtemp(join(cache, "draft-"));
  try {
    const tarball = await packInto(draft);
    await writeFile(
      join(draft, "package.json"),
      JSON.stringify({ private: true, dependencies: dependencyOn(tarball) }),
    );
    await writeFile(join(draft, "package-lock.json"), JSON.stringify(await lockFor(tarball)));
    // npm blocks the scripts of packages more and more; what is installed has to work without them.
    const args = ["ci", "--omit=dev", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"];
    await run("npm", [...args, ...options], { cwd: draft, env: newcomerEnvironment(), timeout: 300_000 });
    await rename(draft, into);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another process made the same one in the meantime.
    if (!existsSync(into)) throw error;
  }
}

function dependencyOn(tarball: string): Record<string, string> {
  return { holdfast: `file:${tarball.slice(tarball.lastIndexOf("/") + 1)}` };
}

async function lockFor(tarball: string): Promise<object> {
  const own = JSON.parse(await readFile(join(repositoryRoot, "package.json"), "utf8"));
  const { version, dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta, bin } = own;
  const packages = productionPackages(join(repositoryRoot, "package-lock.json"));
  const [resolved] = Object.values(dependencyOn(tarball));
  return {
    lockfileVersion: 3,
    packages: {
      "": { dependencies: dependencyOn(tarball) },
      "node_modules/holdfast": {
        version,
        resolved,
        bin,
        dependencies,
        optionalDependencies,
        peerDependencies,
        peerDependenciesMeta,
      },
      ...Object.fromEntries(packages),
    },
  };
}

/** All that goes into the tarball, or decides what is installed beside it. */
async function stateOfPackage(): Promise<string> {
  await run(process.execPath, ["scripts/build.mjs"], { cwd: repositoryRoot, env: newcomerEnvironment() });
  const migrations = (await readdir(join(repositoryRoot, "migrations"))).map((name) => join("migrations", name));
  const files = ["dist/.fingerprint", "package-lock.json", "package.json", ...migrations.sort()];
  const hash = createHash("sha256").update(process.platform).update(process.arch);
  for (const file of files) hash.update(file).update(await readFile(join(repositoryRoot, file)));
  return hash.digest("hex").slice(0, 24);
}

/** Each takes a hundred megabytes, and whoever works on the package makes one after another. */
async function removeOld(): Promise<void> {
  for (const name of await readdir(cache)) {
    const path = join(cache, name);
    const lastUsed = (await stat(path).catch(() => undefined))?.mtimeMs;
    if (lastUsed !== undefined && Date.now() - lastUsed > keptMs) await rm(path, { recursive: true, force: true });
  }
}
