/**
 * `npm run sbom`: writes holdfast.cdx.json, the bill of materials of what somebody installs with the package, in CycloneDX, in the
 * versions of package-lock.json. A path as argument says where else. It ships with a release.
 *
 * npm is asked in a folder where the package is all there is. Here it would leave out what a development dependency needs as well,
 * and say nothing of it.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const path = resolve(process.argv[2] ?? "holdfast.cdx.json");
const own = JSON.parse(readFileSync("package.json", "utf8"));
const { devDependencies: _dev, workspaces: _workspaces, scripts: _scripts, ...shipped } = own;
const scratch = mkdtempSync(join(tmpdir(), "holdfast-sbom-"));
try {
  // npm takes the component's name from that of the folder.
  const folder = join(scratch, own.name);
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify(shipped));
  copyFileSync("package-lock.json", join(folder, "package-lock.json"));
  npm(folder, "install", "--package-lock-only", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund");
  const bill = JSON.parse(npm(folder, "sbom", "--sbom-format=cyclonedx", "--package-lock-only"));
  writeFileSync(path, `${JSON.stringify(bill, null, 2)}\n`);
  console.log(`${path}: ${bill.components.length} components`);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function npm(cwd, ...args) {
  const { status, stdout, error } = spawnSync("npm", args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`npm ${args[0]} ended with ${status}`);
  return stdout;
}
