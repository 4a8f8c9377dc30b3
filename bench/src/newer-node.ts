import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** The newest releases of the peers need a later Node than Holdfast does. */
const needed = { major: 22, minor: 18 };
const fetched = "22.23.3";

/** The path of a Node that runs the peers: this one, or one that npm fetches and keeps in its cache. */
export async function newerNode(): Promise<string> {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > needed.major || (major === needed.major && minor >= needed.minor)) return process.execPath;
  try {
    const args = ["--yes", "--package", `node@${fetched}`, "node", "--print", "process.execPath"];
    const { stdout } = await promisify(execFile)("npx", args, { timeout: 120_000 });
    return stdout.trim();
  } catch (error) {
    const reason = (error as Error).message.trim().split("\n").at(-1);
    throw new Error(`the peers need Node ${needed.major}.${needed.minor}, and npx could not fetch it (${reason})`);
  }
}
