/**
 * `npm start`: builds if needed, then runs `holdfast demo` in this very process, with the arguments given.
 *
 * npm passes SIGINT and SIGTERM on, but nothing when it dies by another signal. So this process also watches whether its parent
 * is still there.
 */
import { spawnSync } from "node:child_process";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");

const { status } = spawnSync(process.execPath, ["scripts/build.mjs"], { cwd: root, stdio: ["ignore", 2, 2] });
if (status !== 0) process.exit(status ?? 1);

if (process.env.npm_lifecycle_event !== undefined) endWithParent();
const program = join(root, "dist/cli/main.js");
process.argv = [process.execPath, program, "demo", ...process.argv.slice(2)];
await import(pathToFileURL(program).href);

function endWithParent() {
  const parent = process.ppid;
  const look = () => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, "SIGTERM");
  };
  const timer = setInterval(look, 500).unref();
}
