/**
 * Builds `dist/` from `src/`: compiled by tsc, with every `.sql` file carried over to the same place. Where there is a
 * `dashboard/`, its page is built into `dist/dashboard`, with a gzipped copy beside each file.
 *
 * Does nothing when `dist/` was built from the very files that are there now, so that every command which needs a build
 * can simply ask for one. `--force` builds in any case. A failed build leaves the last good `dist/` as it was.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { gzipSync } from "node:zlib";

const root = process.cwd();
const dist = join(root, "dist");
const fingerprintFile = join(dist, ".fingerprint");

// `npm ci` builds, so that `npx holdfast` is there from the start; without the compiler it installs all the same.
if (!existsSync(join(root, "node_modules/typescript/package.json"))) {
  console.error("Nothing was built: the compiler is a development dependency, so install without --omit=dev.");
  process.exit(process.env.npm_lifecycle_event === "prepare" ? 0 : 1);
}

const dashboard = join(root, "dashboard");
const hasPage = existsSync(join(dashboard, "index.html"));

const sources = filesBelow("src");
const current = fingerprint([
  ...sources,
  ...(hasPage
    ? [...filesBelow("dashboard"), "node_modules/vite/package.json", "node_modules/preact/package.json"]
    : []),
  "package.json",
  "tsconfig.json",
  "tsconfig.build.json",
  "node_modules/typescript/package.json",
]);

if (!process.argv.includes("--force") && current === lastFingerprint()) process.exit(0);

// Built aside and moved into place, because a test or another check may be running from dist at this moment.
const next = join(root, `dist.${process.pid}`);
try {
  const compiled = run(root, "tsc", "-p", "tsconfig.build.json", "--outDir", next, "--noEmitOnError");
  if (!compiled || (hasPage && !buildPage(join(next, "dashboard")))) process.exitCode = 1;
  else {
    for (const file of sources.filter((source) => source.endsWith(".sql"))) {
      cpSync(join(root, file), join(next, relative("src", file)));
    }
    // npx makes the program executable once, when it links it, and would find each later build refused by the system.
    for (const program of programs()) chmodSync(join(next, relative("dist", program)), 0o755);
    writeFileSync(join(next, ".fingerprint"), `${current}\n`);
    moveIntoPlace();
  }
} finally {
  rmSync(next, { recursive: true, force: true });
}

function filesBelow(folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !path.includes("node_modules"))
    .sort();
}

function run(directory, program, ...args) {
  const done = spawnSync(join(root, "node_modules/.bin", program), args, { cwd: directory, stdio: "inherit" });
  if (done.error) throw done.error;
  return done.status === 0;
}

/** The page, compressed once here and not again for each who asks. */
function buildPage(into) {
  if (!run(dashboard, "vite", "build", "--logLevel", "warn", "--outDir", into, "--emptyOutDir")) return false;
  for (const entry of readdirSync(into, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())) {
    const file = join(entry.parentPath, entry.name);
    writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
  }
  return true;
}

/** The content of the inputs, not their times: a checkout or a copy changes every time and nothing else. */
function fingerprint(files) {
  const hash = createHash("sha256");
  for (const file of files)
    hash
      .update(file)
      .update("\0")
      .update(readFileSync(join(root, file)))
      .update("\0");
  return hash.digest("hex");
}

function programs() {
  return Object.values(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).bin ?? {});
}

function lastFingerprint() {
  return existsSync(fingerprintFile) ? readFileSync(fingerprintFile, "utf8").trim() : undefined;
}

function moveIntoPlace() {
  for (let attempt = 1; ; attempt++) {
    rmSync(dist, { recursive: true, force: true });
    try {
      renameSync(next, dist);
      return;
    } catch (error) {
      // Another build put its own dist there between the two calls.
      if (attempt === 5 || error.code !== "ENOTEMPTY") throw error;
    }
  }
}
