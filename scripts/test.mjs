/**
 * `npm test`: builds if needed, sees to the system programs that some tests drive, and runs vitest with the arguments given;
 * without any, all tests but the slow ones.
 *
 * As root on Debian what is missing gets installed. Elsewhere the run fails and lists it, unless HOLDFAST_TEST_PARTIAL=1:
 * then the tests that need it are skipped (they read HOLDFAST_TEST_MISSING, a comma list) and the list is printed again
 * at the end, so that nobody takes a part for the whole.
 */
import { spawnSync } from "node:child_process";
import { slowTests } from "./slow-tests.mjs";
import { describeMissing, seeTo } from "./system-programs.mjs";

const programs = [
  {
    program: "pgbouncer",
    package: "pgbouncer",
    neededBy: "test/integration: a pooler between a node and its database",
  },
  { program: "faketime", package: "faketime", neededBy: "test/integration: nodes whose wall clock is wrong or steps" },
  { program: "nft", package: "nftables", neededBy: "test/integration: partitions that drop packets silently" },
  {
    program: "haproxy",
    package: "haproxy",
    neededBy: "test/integration, test/guides: a load balancer before the nodes",
  },
  {
    program: "promtool",
    package: "prometheus",
    neededBy: "test/integration: the exported rules, and conditions as Prometheus itself answers them",
  },
  { program: "chromium", package: "chromium", neededBy: "test/browser: the dashboard as people see it" },
  { program: "curl", package: "curl", neededBy: "test/examples: an agent in plain curl" },
  {
    program: "systemd-analyze",
    package: "systemd",
    neededBy: "test/guides: the unit that the guide shows",
  },
  {
    program: "keepalived",
    package: "keepalived",
    neededBy: "test/guides: the floating address that the guide shows",
  },
  { program: "spin", package: "spin", neededBy: "test/tidy: what `npm run model` makes of a model" },
  { program: "gcc", package: "gcc libc6-dev", neededBy: "test/tidy: the same; it compiles what spin writes" },
  { program: "ip", package: "iproute2", neededBy: "test/integration: nodes in network namespaces of their own" },
];

run(process.execPath, ["scripts/build.mjs"]);
const missing = seeTo(programs);
if (missing.length > 0 && process.env.HOLDFAST_TEST_PARTIAL !== "1") {
  console.error(
    `${describeMissing(missing)}\nInstall them, or set HOLDFAST_TEST_PARTIAL=1 to run the rest and be told what was left out.`,
  );
  process.exit(1);
}

const given = process.argv.slice(2);
const wanted = given.length > 0 ? given : slowTests.flatMap((path) => ["--exclude", path]);
const { status } = spawnSync("node_modules/.bin/vitest", ["run", ...wanted], {
  stdio: "inherit",
  env: { ...process.env, HOLDFAST_TEST_MISSING: missing.map(({ program }) => program).join(",") },
});
if (missing.length > 0) console.error(`\nThis was a partial run. ${describeMissing(missing)}`);
process.exit(status ?? 1);

function run(program, args) {
  const { status } = spawnSync(program, args, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
