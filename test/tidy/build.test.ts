import { spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { repositoryRoot } from "./source-tree.js";

async function cleanProject(): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), "holdfast-build-"));
  onTestFinished(() => rm(project, { recursive: true, force: true }));
  await cp(join(import.meta.dirname, "fixtures/clean-project"), project, { recursive: true });
  for (const file of ["tsconfig.json", "tsconfig.build.json"])
    await cp(join(repositoryRoot, file), join(project, file));
  await symlink(join(repositoryRoot, "node_modules"), join(project, "node_modules"));
  return project;
}

function build(project: string, ...args: string[]): number | null {
  return spawnSync(process.execPath, [join(repositoryRoot, "scripts/build.mjs"), ...args], { cwd: project }).status;
}

async function builtAt(project: string): Promise<number> {
  return (await stat(join(project, "dist/index.js"))).mtimeMs;
}

describe("npm run build", () => {
  it("compiles the sources and carries the SQL over to the same place", async () => {
    const project = await cleanProject();
    await writeFile(join(project, "src/election/acquire.sql"), "SELECT 1;\n");
    expect(build(project)).toBe(0);
    expect(await readFile(join(project, "dist/election/core/lease.js"), "utf8")).toContain("remainingMs");
    expect(await readFile(join(project, "dist/election/acquire.sql"), "utf8")).toBe("SELECT 1;\n");
  });

  it("does nothing while the sources are the ones it was built from", async () => {
    const project = await cleanProject();
    build(project);
    const first = await builtAt(project);
    expect(build(project)).toBe(0);
    expect(await builtAt(project)).toBe(first);
    expect(build(project, "--force")).toBe(0);
    expect(await builtAt(project)).toBeGreaterThan(first);
  });

  it("leaves a program that can be run, also by links that were made before", async () => {
    const project = await cleanProject();
    const manifest = JSON.parse(await readFile(join(project, "package.json"), "utf8")) as object;
    await writeFile(
      join(project, "package.json"),
      JSON.stringify({ ...manifest, bin: { holdfast: "./dist/main.js" } }),
    );
    await writeFile(join(project, "src/main.ts"), '#!/usr/bin/env node\nprocess.stdout.write("it runs");\n');
    expect(build(project)).toBe(0);
    expect(build(project, "--force")).toBe(0);
    expect(spawnSync(join(project, "dist/main.js")).stdout?.toString()).toBe("it runs");
  });

  it("says what is missing where the compiler is, and does not hold an installation up by it", async () => {
    const project = await cleanProject();
    await rm(join(project, "node_modules"));
    const script = join(repositoryRoot, "scripts/build.mjs");
    const asked = (event: string) =>
      spawnSync(process.execPath, [script], { cwd: project, env: { ...process.env, npm_lifecycle_event: event } });
    expect(asked("build")).toMatchObject({ status: 1 });
    expect(asked("build").stderr.toString()).toMatch(/^Nothing was built: .*--omit=dev\.\n$/);
    expect(asked("prepare")).toMatchObject({ status: 0 });
  });

  it("leaves nothing behind of a source that is gone", async () => {
    const project = await cleanProject();
    await writeFile(join(project, "src/gone.ts"), "export const gone = 1;\n");
    build(project);
    await rm(join(project, "src/gone.ts"));
    expect(build(project)).toBe(0);
    await expect(stat(join(project, "dist/gone.js"))).rejects.toThrow("ENOENT");
  });

  it("builds the page of a dashboard too, compressed, and again when it changes", { timeout: 60_000 }, async () => {
    const project = await cleanProject();
    await mkdir(join(project, "dashboard/src"), { recursive: true });
    await writeFile(join(project, "dashboard/index.html"), '<script type="module" src="/src/main.ts"></script>\n');
    const page = async (word: string) => {
      await writeFile(join(project, "dashboard/src/main.ts"), `document.title = "${word}";\n`);
      expect(build(project)).toBe(0);
      const assets = await readdir(join(project, "dist/dashboard/assets"));
      const script = assets.find((name) => name.endsWith(".js")) ?? "none";
      const unpacked = gunzipSync(await readFile(join(project, "dist/dashboard/assets", `${script}.gz`))).toString();
      expect(unpacked).toBe(await readFile(join(project, "dist/dashboard/assets", script), "utf8"));
      expect(unpacked).toContain(word);
      return script;
    };
    expect(await page("Lanes")).not.toBe(await page("Nodes"));
    await writeFile(join(project, "dashboard/src/main.ts"), "import './gone.js';\n");
    expect(build(project)).toBe(1);
    expect(await readdir(join(project, "dist/dashboard/assets"))).toHaveLength(2);
  });

  it("keeps the last good dist when the sources do not compile, and tries again the next time", async () => {
    const project = await cleanProject();
    build(project);
    const first = await builtAt(project);
    await writeFile(join(project, "src/wrong.ts"), 'export const wrong: number = "";\n');
    expect(build(project)).toBe(1);
    expect(build(project)).toBe(1);
    expect(await builtAt(project)).toBe(first);
  });
});
