/**
 * `npm run test:long`: what takes too long for every change. Those tests of `npm test` that have a longer form, in that form, and
 * the slow ones (slow-tests.mjs), and the contract suite on older versions of PostgreSQL.
 * HOLDFAST_SEEDS says how many seeds the simulator runs, HOLDFAST_LONG=1 that failover rounds and fault runs are long.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { slowTests } from "./slow-tests.mjs";

const long = { HOLDFAST_SEEDS: "20000", HOLDFAST_LONG: "1" };
const asksHowLong = /HOLDFAST_(LONG|SEEDS)/;

/** A test has a longer form where it asks how long it shall be, itself or through what it imports of the tests. */
function hasLongForm(path, seen = new Set()) {
  // Texts of modules within tests import what is nowhere.
  if (seen.has(path) || !existsSync(path)) return false;
  seen.add(path);
  const text = readFileSync(path, "utf8");
  if (asksHowLong.test(text)) return true;
  const imports = [...text.matchAll(/from "(\.[^"]+)\.js"/g)].map(([, name]) => join(dirname(path), `${name}.ts`));
  return imports.some((imported) => imported.startsWith("test/") && hasLongForm(imported, seen));
}

const tests = readdirSync("test", { recursive: true })
  .map((name) => join("test", name))
  .filter((path) => path.endsWith(".test.ts") && hasLongForm(path));
/** These compute, and look at no clock but their own: they share the machine among themselves, and with nothing else. */
const isComputing = (path) => /^test\/(simulation|contract)\//.test(path);
run("simulations and comparisons", tests.filter(isComputing));
// One file at a time: processes whose leases last two seconds get in each other's way.
run("longer forms", [...tests.filter((path) => !isComputing(path)), "--maxWorkers=1"]);
run(
  "slow tests",
  slowTests.filter((path) => !tests.includes(path)),
);
// The oldest one; all five are what `npm run test:versions` is for.
start("the oldest version of PostgreSQL", ["scripts/test-versions.mjs", "--quick", "14"]);

function run(name, wanted) {
  start(`${name}: ${wanted.join(" ")}`, ["scripts/test.mjs", ...wanted, ...process.argv.slice(2)]);
}

function start(name, args) {
  console.log(`long run, ${name}`);
  // What is set by hand wins, to repeat one part with fewer seeds.
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit", env: { ...long, ...process.env } });
  if (status !== 0) process.exit(status ?? 1);
}
