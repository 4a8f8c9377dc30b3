/** `npm run torture -- [--minutes N] [--seed S] [--fault F]... [--out DIR]`: builds the package, then tortures it. */
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { status } = spawnSync(process.execPath, ["scripts/build.mjs"], { stdio: ["ignore", 2, 2] });
if (status !== 0) process.exit(status ?? 1);
const root = process.cwd();
// It is the dashboard's, and runs TypeScript as it lies there.
const vite = createRequire(join(root, "dashboard/package.json")).resolve("vite");
const { runnerImport } = await import(pathToFileURL(vite).href);
// Node.js 20 knows neither types nor `using`.
const options = { root, configFile: false, logLevel: "error", oxc: { target: "es2022" } };
const { module } = await runnerImport(join(root, "test/torture/main.ts"), options);
process.exit(await module.main(process.argv.slice(2)));
