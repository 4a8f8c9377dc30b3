import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { loadOperations } from "./operations-folder.js";

async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-ops-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

const double = "export default ({ n }) => 2 * n;";

describe("the operations of a folder", () => {
  it("are named by their files, and by the folders those lie in", async () => {
    const operations = await loadOperations(
      await folderWith({
        "double.mjs": double,
        "images/resize.mjs": double,
        "old.cjs": "module.exports = () => 'old';",
        "notes.md": "",
        "_shared.mjs": "throw new Error('not an operation');",
        "_lib/more.mjs": "throw new Error('not an operation');",
        "node_modules/x/index.js": "throw new Error('not an operation');",
      }),
    );
    expect(Object.keys(operations).toSorted()).toEqual(["double", "images/resize", "old"]);
    expect(operations.double?.({ n: 4 } as never, undefined as never)).toBe(8);
  });

  it.each([
    [{}, /there is no operation: each is a \.js or \.mjs file/],
    [{ "a.mjs": "syntax error here" }, /^The operation a\.mjs cannot be loaded: \S/],
    [
      { "a.mjs": "import 'no-such-package-at-all';" },
      /^The operation a\.mjs cannot be loaded: .*no-such-package-at-all/,
    ],
    [{ "a.mjs": "export const run = () => 1;" }, /^The operation a\.mjs has no function as its default export\.$/],
    [{ "a.mjs": double, "a.cjs": "module.exports = () => 1;" }, /two files are the operation "a": rename one\.$/],
    [{ "my op.mjs": double }, /"my op\.mjs" cannot be the name of an operation/],
  ])("are refused in one line where they are %j", async (files, said) => {
    const folder = await folderWith(files);
    await expect(loadOperations(folder)).rejects.toMatchObject({
      code: "BAD_SETTINGS",
      message: expect.stringMatching(said) as unknown,
    });
    await expect(loadOperations(folder)).rejects.not.toMatchObject({
      message: expect.stringContaining("\n") as unknown,
    });
  });

  it("are refused where there is no folder", async () => {
    await expect(loadOperations("/nowhere/at/all")).rejects.toThrow(
      "The operations of /nowhere/at/all: the folder cannot be read (ENOENT).",
    );
  });
});
