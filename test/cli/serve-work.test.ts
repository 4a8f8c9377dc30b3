import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "../support/command.js";
import { createTestDatabase, makeTestDirectory } from "../support/postgres.js";
import { quickCluster, ServeProcess } from "../support/serve-process.js";

describe("holdfast serve, with work that cannot be done,", () => {
  it.each([
    [["--ops", "ops"], "The operations of /nowhere/ops: the folder cannot be read (ENOENT). [BAD_SETTINGS]"],
    [["--functions", "fns"], "The functions of /nowhere/fns: the folder cannot be read (ENOENT). [BAD_SETTINGS]"],
    [
      ["--concurrency", "0"],
      'option "--concurrency <n>" argument "0" is invalid. It must be a whole number above 0. [USAGE]',
    ],
  ])("%j, says so in one line before anything begins, and exits with 2", async (args, said) => {
    const { code, stderr } = await runHere(["serve", ...args]);
    expect(stderr).toBe(`holdfast: ${said}\n`);
    expect(code).toBe(2);
  });

  it("such as a module without a function, names it", async () => {
    const folder = await makeTestDirectory();
    await writeFile(join(folder, "greet.mjs"), "export const greet = () => 1;");
    const { code, stderr } = await runHere(["serve", "--functions", folder]);
    expect(stderr).toBe("holdfast: The function greet.mjs has no function as its default export. [BAD_SETTINGS]\n");
    expect(code).toBe(2);
  });

  it("because its node lacks the role, runs and tells so", async () => {
    await using database = await createTestDatabase();
    const folder = await makeTestDirectory();
    await writeFile(join(folder, "greet.mjs"), "export default () => 1;");
    const settings = { ...quickCluster, "store.url": database.url, "cluster.roles": "gateway,scheduler" };
    const args = ["--ops", folder, "--functions", folder];
    await using node = await ServeProcess.start({ settings, args });
    await node.said('this node has operations and runs none of them: cluster.roles lacks \\"worker\\"');
    await node.said('this node has functions and runs none of them: cluster.roles lacks \\"function\\"');
    const { items } = await node.read<{ readonly items: readonly unknown[] }>("/v1/agents");
    expect(items).toEqual([]);
  });
});
