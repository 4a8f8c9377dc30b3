/**
 * Completes package-lock.json with the packages of other platforms that npm left out.
 *
 * A native tool lists one optional package a platform. Where the registry in use does not carry one of them (a mirror does
 * not, or not yet), npm writes a lock without it, and `npm ci` then refuses that very lock on every machine. The name and
 * the exact version stand in the tool's own entry, and the name says the platform, so the missing entry can be written
 * down. Run it after `npm install`; test/tidy/lock.test.ts says when.
 */
import { readFileSync, writeFileSync } from "node:fs";

const systems = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];
const processors = ["arm", "arm64", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32", "x64"];

const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
const added = [];

for (const [parent, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (isLocked(parent, name)) continue;
    if (!/^\d+\.\d+\.\d+[\w.-]*$/.test(version))
      throw new Error(`${name}@${version} is no exact version: lock it by hand`);
    const { cpu, libc, os } = platformOf(name);
    // In npm's own order of fields, so that its next write changes nothing here.
    lock.packages[`node_modules/${name}`] = { version, cpu, dev: entry.dev, libc, optional: true, os };
    added.push(`${name}@${version}`);
  }
}

lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, "en")));
if (added.length > 0) writeFileSync("package-lock.json", `${JSON.stringify(lock, null, 2)}\n`);
console.log(added.length > 0 ? `added ${added.join(", ")}` : "nothing is missing");

/** As Node resolves it: beside the parent, or beside any folder above it. */
function isLocked(parent, name) {
  for (let folder = parent; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    if (lock.packages[`${folder === "" ? "" : `${folder}/`}node_modules/${name}`]) return true;
    if (folder === "") return false;
  }
}

function platformOf(name) {
  const words = name.split(/[-/]/);
  const os = systems.find((system) => words.includes(system));
  const cpu = processors.find((processor) => words.includes(processor));
  if (!cpu) throw new Error(`cannot read a platform from the name ${name}: lock it by hand`);
  const libc = words.some((word) => word.startsWith("musl")) ? "musl" : words.includes("gnu") ? "glibc" : undefined;
  return { cpu: [cpu], libc: libc && [libc], os: os && [os] };
}
