/**
 * Programs of the system that tests and benches drive. As root on Debian what is missing gets installed; elsewhere it is left to
 * whoever called to say what is missing.
 */
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Installs what can be, and answers with what is still missing. Each is `{ program, package, neededBy }`; a package may be several. */
export function seeTo(programs) {
  const packages = missingOf(programs).flatMap(({ package: names }) => names.split(" "));
  if (packages.length > 0 && process.getuid?.() === 0 && existsSync("/etc/debian_version")) install(packages);
  return missingOf(programs);
}

export function describeMissing(programs) {
  const lines = programs.map(({ program, package: name, neededBy }) => `  ${program} (Debian: ${name})  ${neededBy}`);
  return `Missing system programs:\n${lines.join("\n")}`;
}

function missingOf(programs) {
  return programs.filter(({ program }) => !isInstalled(program));
}

function install(packages) {
  // Not to stdout, which may belong to whoever reads a result there.
  console.error(`installing ${packages.join(", ")}`);
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

/** What is wanted is PgBouncer's program, not a PgBouncer that listens on this machine from now on. */
function withServicesHeldBack(act) {
  const policy = "/usr/sbin/policy-rc.d";
  const ours = !existsSync(policy);
  if (ours) writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    act();
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
