import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { newcomerEnvironment } from "./installed-package.js";

/** The releases that stand for the major versions of Node that the package is for. The oldest is that of whoever runs the tests. */
const releases = { 22: "22.23.3", 24: "24.21.0" } as const;

export type NodeMajor = 20 | keyof typeof releases;

/** The path of such a Node: the one that runs this, or one that npm fetches and keeps in its cache. */
export async function nodeRelease(major: NodeMajor): Promise<string> {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
  const wanted = major === 20 ? "20.20.2" : releases[major];
  const args = ["--yes", "--prefer-offline", "--package", `node@${wanted}`, "node", "--print", "process.execPath"];
  const { stdout } = await promisify(execFile)("npx", args, { env: newcomerEnvironment(), timeout: 300_000 });
  return stdout.trim();
}
