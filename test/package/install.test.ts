import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { clearAway } from "../support/demo-process.js";
import { newcomerEnvironment, packInto } from "../support/installed-package.js";
import { makeTestDirectory } from "../support/postgres.js";

// An install takes a while on a busy machine.
vi.setConfig({ testTimeout: 600_000 });

const run = promisify(execFile);

/** In the versions that are the newest today, as anybody gets them: what our own lock holds back is not held back there. */
test("the tarball installs into an empty project of a user without any settings, and npm has nothing to say against it", async () => {
  const folder = await makeTestDirectory();
  try {
    const tarball = await packInto(folder);
    const project = join(folder, "project");
    const home = join(folder, "home");
    for (const path of [project, home]) await mkdir(path);
    await writeFile(join(project, "package.json"), "{}\n");
    const { stdout: cache } = await run("npm", ["config", "get", "cache"], { env: newcomerEnvironment() });
    // Only what was downloaded before comes from the user who runs this.
    const env = { ...newcomerEnvironment(), HOME: home, npm_config_cache: cache.trim(), NO_COLOR: "1" };
    const options = { cwd: project, env, timeout: 300_000 };
    const { stderr } = await run("npm", ["install", tarball, "--omit=dev", "--prefer-offline", "--no-audit"], options);
    expect(stderr).not.toMatch(/EBADENGINE|deprecated|ERESOLVE|vulnerab/);
    const { stdout: version } = await run("npx", ["holdfast", "--version"], options);
    expect(version).toMatch(/^\d+\.\d+\.\d+\n$/);
    const program = 'import { createNode } from "holdfast"; import "holdfast/fastify"; console.log(typeof createNode);';
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program], options);
    expect(stdout).toBe("function\n");
  } finally {
    await clearAway(folder);
  }
});
