/** `npm run bench -- [what] [--json]`: builds the package and the benches, then runs them with the arguments given. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describeMissing, seeTo } from "./system-programs.mjs";

const etcd = { program: "etcd", package: "etcd-server", neededBy: "bench failover: the election of etcd beside ours" };

if (!existsSync("bench/src/main.ts")) {
  console.error("there is no bench/src/main.ts to run");
  process.exit(1);
}

const [what = "all"] = process.argv.slice(2).filter((argument) => !argument.startsWith("-"));
const missing = ["all", "failover"].includes(what) ? seeTo([etcd]) : [];
// The other benches of `all` need none of them, and that one says what it lacks.
if (missing.length > 0) console.error(describeMissing(missing));

// Stdout belongs to the bench: with --json its last line is an object that others read.
run(process.execPath, ["scripts/build.mjs"], ["ignore", 2, 2]);
run("node_modules/.bin/tsc", ["-p", "bench"], ["ignore", 2, 2]);
run(process.execPath, ["bench/dist/main.js", ...process.argv.slice(2)], "inherit");

function run(program, args, stdio) {
  const { status } = spawnSync(program, args, { stdio });
  if (status !== 0) process.exit(status ?? 1);
}
