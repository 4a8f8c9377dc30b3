import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { serveEnvironment } from "../support/serve-process.js";

const run = promisify(execFile);

/**
 * Makes the schema of the build in this folder, and the token of an administrator, whose secret it answers with. It is the command line
 * of that very build that does it, since a sabotaged one may have other migrations.
 */
export async function openDatabase(url: string, dist: string, tls?: "require"): Promise<string> {
  const program = join(dist, "cli", "main.js");
  const env = serveEnvironment({ "store.url": url, ...(tls === undefined ? {} : { "store.tls": tls }) });
  await run(process.execPath, [program, "migrate"], { env });
  const wish = ["token", "create", "--direct", "--name", "torture", "--role", "admin"];
  const { stdout } = await run(process.execPath, [program, ...wish], { env });
  return stdout.trim();
}
