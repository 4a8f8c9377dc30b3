import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { repositoryRoot } from "../support/demo-process.js";
import { newcomerEnvironment } from "../support/installed-package.js";
import { makeTestDirectory } from "../support/postgres.js";
import { productionPackages } from "../support/production-packages.js";

// An install takes a while on a busy machine.
vi.setConfig({ testTimeout: 600_000 });

interface Bill {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { readonly name: string; readonly purl: string } };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly purl: string;
    readonly licenses?: readonly unknown[];
  }[];
}

test("the bill of materials lists all that an install brings, and nothing that we only develop with", async () => {
  const folder = await makeTestDirectory();
  try {
    const path = join(folder, "bill.json");
    const run = { cwd: repositoryRoot, env: newcomerEnvironment() };
    await promisify(execFile)(process.execPath, ["scripts/sbom.mjs", path], run);
    const bill = JSON.parse(await readFile(path, "utf8")) as Bill;
    expect(bill.bomFormat).toBe("CycloneDX");
    expect(bill.metadata.component).toMatchObject({
      name: "holdfast",
      purl: expect.stringMatching(/^pkg:npm\/holdfast@/),
    });
    const locked = [...productionPackages(join(repositoryRoot, "package-lock.json"))].map(
      ([place, { version }]) => `${place.slice(place.lastIndexOf("node_modules/") + 13)}@${version}`,
    );
    const listed = bill.components.map(({ name, version }) => `${name}@${version}`);
    expect([...new Set(listed)].sort()).toEqual([...new Set(locked)].sort());
    expect(listed.some((name) => name.startsWith("pg@"))).toBe(true);
    expect(listed.filter((name) => /^(vitest|typescript|knip)@/.test(name))).toEqual([]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
