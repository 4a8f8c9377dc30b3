import { spawn } from "node:child_process";
import { cp, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { repositoryRoot } from "./source-tree.js";

/**
 * A gate that cannot fail is worse than none. Each fixture is laid over a small clean project that is governed by this
 * repository's own configuration, and the gate must name the rule that the fixture breaks.
 */
const fixtures = join(import.meta.dirname, "fixtures");

const configuration = [
  ".gitignore",
  ".oxlintrc.json",
  "biome.jsonc",
  "knip.json",
  "tsconfig.json",
  "tsconfig.build.json",
];

async function projectWith(fixture: string | undefined): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), "holdfast-gate-"));
  onTestFinished(() => rm(project, { recursive: true, force: true }));
  await cp(join(fixtures, "clean-project"), project, { recursive: true });
  if (fixture) await cp(join(fixtures, fixture), project, { recursive: true });
  for (const file of configuration) await cp(join(repositoryRoot, file), join(project, file));
  await symlink(join(repositoryRoot, "node_modules"), join(project, "node_modules"));
  return project;
}

function check(
  project: string,
  gates: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const script = join(repositoryRoot, "scripts/check.mjs");
    const child = spawn(process.execPath, [script, ...gates], { cwd: project, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
    });
    child.stderr.on("data", (chunk) => {
      output += chunk;
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}

describe("npm run check", () => {
  it("passes a clean project through every gate", async () => {
    const { code, output } = await check(await projectWith(undefined), []);
    expect(output).toContain("all passed");
    expect(code).toBe(0);
  });

  it.each([
    ["type-error", "types", "TS2322"],
    ["bad-format", "biome", "src/index.ts format"],
    ["restricted-global", "biome", "noRestrictedGlobals"],
    ["restricted-import", "biome", "noRestrictedImports"],
    ["math-random", "biome", "noJsRestrictedProperties"],
    ["process-env", "biome", "noProcessEnv"],
    ["process-exit", "biome", "noProcessExit"],
    ["long-function", "biome", "noExcessiveLinesPerFunction"],
    ["long-file", "biome", "noExcessiveLinesPerFile"],
    ["import-cycle", "biome", "noImportCycles"],
    ["floating-promise", "oxlint", "no-floating-promises"],
    ["misused-promise", "oxlint", "no-misused-promises"],
    ["non-exhaustive-switch", "oxlint", "switch-exhaustiveness-check"],
    ["unused-export", "knip", "neverCalled"],
    ["unused-dependency", "knip", "never-imported"],
    ["missing-file", "publint", "./dist/gone.js but the file does not exist"],
    ["untyped-entry", "publint", "./dist/index.d.ts but the file does not exist"],
    // With no types at all attw has nothing to say and passes; publint has stopped that above.
    ["half-typed", "attw", "UntypedResolution"],
    ["type-error", "build", "TS2322"],
    ["dashboard-type-error", "dashboard-types", "TS2322"],
    ["dashboard-too-large", "dashboard-size", "noise.bin"],
  ])("stops %s at %s, and says %s", async (fixture, gate, rule) => {
    const { code, output } = await check(await projectWith(fixture), [gate]);
    expect(output).toContain(`FAIL ${gate}`);
    expect(output).toContain(rule);
    expect(code).toBe(1);
  });

  it("does not call a gate passed that could not run", async () => {
    const { code, output } = await check(await projectWith("type-error"), ["publint"]);
    expect(output).toContain("FAIL publint         not run, because pack failed");
    expect(code).toBe(1);
  });

  it("refuses a gate that does not exist", async () => {
    const { code, output } = await check(await projectWith(undefined), ["no-such-gate"]);
    expect(output).toContain("no such gate: no-such-gate");
    expect(code).toBe(2);
  });
});
