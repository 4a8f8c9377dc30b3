/** `npm run bench -- [what] [--json]`: builds the package and the benches, then runs them with the arguments given. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

if (!existsSync("bench/src/main.ts")) {
  console.error("there is no bench/src/main.ts to run");
  process.exit(1);
}

// Stdout belongs to the bench: with --json its last line is an object that others read.
run(process.execPath, ["scripts/build.mjs"], ["ignore", 2, 2]);
run("node_modules/.bin/tsc", ["-p", "bench"], ["ignore", 2, 2]);
run(process.execPath, ["bench/dist/main.js", ...process.argv.slice(2)], "inherit");

function run(program, args, stdio) {
  const { status } = spawnSync(program, args, { stdio });
  if (status !== 0) process.exit(status ?? 1);
}
