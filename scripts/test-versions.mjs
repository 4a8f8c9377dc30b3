/**
 * `npm run test:versions`: the contract and the integration suites on each major version of PostgreSQL that Holdfast is for, from npm.
 * A version is fetched once into node_modules/.cache. A line a version at the end; exit 1 if one failed.
 *
 * `--quick` runs the contract suite alone, without the long comparisons; version numbers run only these; anything else that begins
 * with a dash goes on to vitest. HOLDFAST_TEST_POSTGRES=16 does the same for any single test that is run by hand.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { slowTests } from "./slow-tests.mjs";

const releases = JSON.parse(readFileSync("test/support/postgres-versions.json", "utf8"));
const given = process.argv.slice(2);
const quick = given.includes("--quick");
const asked = given.filter((word) => !word.startsWith("-"));
const options = given.filter((word) => word.startsWith("-") && word !== "--quick");
const unknown = asked.filter((major) => !(major in releases));
if (unknown.length > 0) {
  console.error(`no such version: ${unknown.join(", ")}; there are ${Object.keys(releases).join(", ")}`);
  process.exit(2);
}

/** Prometheus' own answers are compared with ours there, and no database takes part. */
const withoutDatabase = ["--exclude", "test/integration/promtool-*"];
const suites = quick
  ? ["test/contract", ...slowTests.flatMap((path) => ["--exclude", path])]
  : ["test/contract", "test/integration", ...withoutDatabase];

const results = (asked.length > 0 ? asked : Object.keys(releases)).map((major) => {
  console.log(`\n=== PostgreSQL ${major} (${releases[major]})`);
  const began = performance.now();
  const { status } = spawnSync(process.execPath, ["scripts/test.mjs", ...suites, "--reporter=dot", ...options], {
    stdio: "inherit",
    env: { ...process.env, HOLDFAST_TEST_POSTGRES: major },
  });
  return { major, passed: status === 0, seconds: Math.round((performance.now() - began) / 1000) };
});

console.log("");
for (const { major, passed, seconds } of results) {
  console.log(`PostgreSQL ${major}: ${passed ? "passed" : "FAILED"} in ${seconds} s`);
}
process.exitCode = results.every(({ passed }) => passed) ? 0 : 1;
