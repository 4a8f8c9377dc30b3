import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** A text file of the repository, or one that a test made up. The path is relative to the root, with forward slashes. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** One broken rule at one place. Tests print these, so each reads as a sentence. */
export type Violation = string;

export const repositoryRoot = resolve(import.meta.dirname, "../..");

/** What is tracked or would be by the next `git add`. The fixtures are wrong on purpose. */
export function repositoryPaths(): readonly string[] {
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: repositoryRoot,
    encoding: "utf8",
  });
  const paths = listed.split("\0").filter((path) => path !== "" && !path.startsWith("test/tidy/fixtures/"));
  return [...new Set(paths)].filter((path) => existsSync(join(repositoryRoot, path))).sort();
}

export function readSource(path: string): SourceFile {
  return { path, text: readFileSync(join(repositoryRoot, path), "utf8") };
}

export function repositoryScripts(): readonly SourceFile[] {
  return repositoryPaths()
    .filter((path) => /\.(ts|tsx|mts|mjs)$/.test(path))
    .map(readSource);
}

export function isTest(path: string): boolean {
  return path.endsWith(".test.ts") || path.endsWith(".test.tsx");
}

export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}
