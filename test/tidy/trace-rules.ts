import { execFileSync } from "node:child_process";
import { dirname } from "node:path";
import { lineAt, repositoryRoot, type SourceFile, type Violation } from "./source-tree.js";

/** Spelt in two halves, so that this file does not find itself. */
const unfinished = new RegExp(`\\b(${["TO" + "DO", "FIX" + "ME"].join("|")})\\b`, "g");

/** Folders that any machine may have, which docs may therefore name. */
const ordinaryFolders = [
  "/",
  "/tmp",
  "/var/tmp",
  "/home",
  "/root",
  "/srv",
  "/opt",
  "/mnt",
  "/usr/src",
  "/usr/local/src",
  "/workspace",
];

/** The paths that only this machine has: where the clone lies, and what it lies in. */
export function machinePaths(root: string): readonly string[] {
  const own = root.split("/").length > 2 ? [root] : [];
  return ordinaryFolders.includes(dirname(root)) ? own : [dirname(root), ...own];
}

/** The host with its port where it has one: a bare "localhost" would be found everywhere. */
export function registryHost(registry: string): string | undefined {
  const { host, hostname, port } = new URL(registry);
  return port === "" && !hostname.includes(".") ? undefined : host;
}

export interface Traces {
  readonly host: string | undefined;
  readonly paths: readonly string[];
}

export function traceViolations(file: SourceFile, { host, paths }: Traces): readonly Violation[] {
  const isBinary = file.text.includes("\0");
  if (isBinary) return [];
  const patterns = [
    { says: "is marked as unfinished", pattern: unfinished },
    ...(host ? [{ says: "names a package registry", pattern: new RegExp(literal(host), "gi") }] : []),
    ...paths.map((path) => ({
      says: "names a path of one machine",
      // Not in the middle of a longer path, where a folder only ends or goes on with the same word.
      pattern: new RegExp(`(?<![\\w.~*/-])${literal(path)}(?![\\w-])`, "g"),
    })),
  ];
  return patterns.flatMap(({ says, pattern }) =>
    [...file.text.matchAll(pattern)].map((match) => `${file.path}:${lineAt(file.text, match.index)} ${says}`),
  );
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

export function tracesOfThisMachine(): Traces {
  const registry = execFileSync("npm", ["config", "get", "registry"], {
    cwd: repositoryRoot,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  return { host: registryHost(registry.trim()), paths: machinePaths(repositoryRoot) };
}
