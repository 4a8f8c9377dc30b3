/** `npm run torture -- [--minutes N] [--seed S] [--fault F]... [--out DIR]`: builds the package, then tortures it. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { runnerImport } from "vite";

const { status } = spawnSync(process.execPath, ["scripts/build.mjs"], { stdio: ["ignore", 2, 2] });
if (status !== 0) process.exit(status ?? 1);
const root = process.cwd();
// Node.js 20 knows neither types nor `using`.
const options = { root, configFile: false, logLevel: "error", oxc: { target: "es2022" } };
const { module } = await runnerImport(join(root, "test/torture/main.ts"), options);
process.exit(await module.main(process.argv.slice(2)));
