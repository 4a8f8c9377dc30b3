/**
 * `npm test`: builds if needed, sees to the system programs that some tests drive, and runs vitest with the arguments given;
 * without any, all tests but the slow ones.
 *
 * As root on Debian what is missing gets installed. Elsewhere the run fails and lists it, unless HOLDFAST_TEST_PARTIAL=1:
 * then the tests that need it are skipped (they read HOLDFAST_TEST_MISSING, a comma list) and the list is printed again
 * at the end, so that nobody takes a part for the whole.
 */
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { slowTests } from "./slow-tests.mjs";

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
    neededBy: "test/integration: a load balancer between senders and the nodes",
  },
  {
    program: "promtool",
    package: "prometheus",
    neededBy: "test/integration: the exported rules, and conditions as Prometheus itself answers them",
  },
  { program: "chromium", package: "chromium", neededBy: "test/browser: the dashboard as people see it" },
  { program: "curl", package: "curl", neededBy: "test/examples: an agent in plain curl" },
  { program: "ip", package: "iproute2", neededBy: "test/integration: nodes in network namespaces of their own" },
];

run(process.execPath, ["scripts/build.mjs"]);
installMissing();
const missing = programs.filter(({ program }) => !isInstalled(program));
if (missing.length > 0 && process.env.HOLDFAST_TEST_PARTIAL !== "1") {
  console.error(
    `${describe(missing)}\nInstall them, or set HOLDFAST_TEST_PARTIAL=1 to run the rest and be told what was left out.`,
  );
  process.exit(1);
}

const given = process.argv.slice(2);
const wanted = given.length > 0 ? given : slowTests.flatMap((path) => ["--exclude", path]);
const { status } = spawnSync("node_modules/.bin/vitest", ["run", ...wanted], {
  stdio: "inherit",
  env: { ...process.env, HOLDFAST_TEST_MISSING: missing.map(({ program }) => program).join(",") },
});
if (missing.length > 0) console.error(`\nThis was a partial run. ${describe(missing)}`);
process.exit(status ?? 1);

function describe(list) {
  const lines = list.map(({ program, package: name, neededBy }) => `  ${program} (Debian: ${name})  ${neededBy}`);
  return `Missing system programs:\n${lines.join("\n")}`;
}

function installMissing() {
  const packages = programs.filter(({ program }) => !isInstalled(program)).map(({ package: name }) => name);
  if (packages.length === 0 || process.getuid?.() !== 0 || !existsSync("/etc/debian_version")) return;
  console.log(`installing ${packages.join(", ")}`);
  withServicesHeldBack(() => {
    // The first try fails where the package lists are missing or old, which is nothing to talk about.
    if (aptGet("install", packages, { loud: false })) return;
    aptGet("update", [], { loud: true });
    aptGet("install", packages, { loud: true });
  });
}

function aptGet(verb, packages, { loud }) {
  const options = [
    "-qq",
    "-o",
    "DPkg::Lock::Timeout=120",
    ...(verb === "install" ? ["-y", "--no-install-recommends"] : []),
  ];
  const result = spawnSync("apt-get", [verb, ...options, ...packages], {
    stdio: ["ignore", "ignore", loud ? "inherit" : "ignore"],
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });
  return result.status === 0;
}

/** A test wants PgBouncer's program, not a PgBouncer that listens on this machine from now on. */
function withServicesHeldBack(install) {
  const policy = "/usr/sbin/policy-rc.d";
  const ours = !existsSync(policy);
  if (ours) writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    install();
  } finally {
    if (ours) rmSync(policy, { force: true });
  }
}

function isInstalled(program) {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function run(program, args) {
  const { status } = spawnSync(program, args, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
