/**
 * Builds `dist/` from `src/`: compiled by tsc, with every `.sql` file carried over to the same place.
 *
 * Does nothing when `dist/` was built from the very files that are there now, so that every command which needs a build
 * can simply ask for one. `--force` builds in any case. A failed build leaves the last good `dist/` as it was.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";

const root = process.cwd();
const dist = join(root, "dist");
const fingerprintFile = join(dist, ".fingerprint");

const sources = readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && !entry.name.endsWith(".test.ts"))
  .map((entry) => relative(root, join(entry.parentPath, entry.name)))
  .sort();

const current = fingerprint([
  ...sources,
  "package.json",
  "tsconfig.json",
  "tsconfig.build.json",
  "node_modules/typescript/package.json",
]);

if (!process.argv.includes("--force") && current === lastFingerprint()) process.exit(0);

// Built aside and moved into place, because a test or another check may be running from dist at this moment.
const next = join(root, `dist.${process.pid}`);
try {
  const compiled = spawnSync(
    join(root, "node_modules/.bin/tsc"),
    ["-p", "tsconfig.build.json", "--outDir", next, "--noEmitOnError"],
    { cwd: root, stdio: "inherit" },
  );
  if (compiled.error) throw compiled.error;
  if (compiled.status !== 0) process.exitCode = 1;
  else {
    for (const file of sources.filter((source) => source.endsWith(".sql"))) {
      cpSync(join(root, file), join(next, relative("src", file)));
    }
    writeFileSync(join(next, ".fingerprint"), `${current}\n`);
    moveIntoPlace();
  }
} finally {
  rmSync(next, { recursive: true, force: true });
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
