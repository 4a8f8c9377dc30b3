import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type FencedBlock, fencedBlocks } from "../support/snippets.js";
import { unrunBlocks } from "./guide-rules.js";

const root = join(import.meta.dirname, "../..");
const folder = join(root, "docs/guides");
const guides = readdirSync(folder)
  .filter((name) => name.endsWith(".md") && name !== "README.md")
  .map((name) => name.replace(/\.md$/, ""));

/** Guides whose blocks are in more tests than the one of their name. */
const alsoIn: Readonly<Record<string, readonly string[]>> = { fencing: ["fencing-prisma"] };

/** Blocks that other tests run, by the commands themselves. */
const runElsewhere: Readonly<Record<string, string>> = {
  "one-replica-acts: install": "test/package/install.test.ts",
  "torture: torture": "test/torture/torture.test.ts",
  "tune-timings: drill": "test/cli/drill.test.ts",
};

function testsOf(guide: string): readonly string[] {
  const paths = [guide, ...(alsoIn[guide] ?? [])].map((name) => join(root, "test/guides", `${name}.test.ts`));
  return paths.filter((path) => existsSync(path)).map((path) => readFileSync(path, "utf8"));
}

describe("the guides", () => {
  it("stand in the index, each once", () => {
    const index = readFileSync(join(folder, "README.md"), "utf8");
    const listed = [...index.matchAll(/^- \[[^\]]+\]\(([\w-]+)\.md\)/gm)].map(([, name = ""]) => name);
    expect(listed.toSorted()).toEqual(guides.toSorted());
  });

  it("have each block that is run elsewhere, and its test is there", () => {
    const names = guides.flatMap((guide) =>
      fencedBlocks(join(folder, `${guide}.md`)).map(({ name }) => `${guide}: ${name}`),
    );
    expect(names).toEqual(expect.arrayContaining(Object.keys(runElsewhere)));
    expect(Object.values(runElsewhere).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it.each(guides)("%s has no block that no test runs", (guide) => {
    const blocks = fencedBlocks(join(folder, `${guide}.md`));
    const here = blocks.filter(({ name }) => runElsewhere[`${guide}: ${name}`] === undefined);
    expect(unrunBlocks(here, testsOf(guide))).toEqual([]);
  });
});

describe("a block that no test runs", () => {
  const block = (name: string | undefined, language = "sh"): FencedBlock => ({ name, language, text: "", line: 3 });

  it("is found where nothing can name it, and where no test does", () => {
    expect(unrunBlocks([block(undefined)], [])).toEqual(["line 3: a block of sh has no name"]);
    expect(unrunBlocks([block("drain")], [])).toEqual(["line 3: no test runs drain"]);
    expect(unrunBlocks([block("drain")], ['guide.run("drains")'])).toEqual(["line 3: no test runs drain"]);
  });

  it("is not taken for run because its guide has the same name", () => {
    const opened = ['await Guide.open("demo", env)', 'blocksOf("demo")'];
    expect(unrunBlocks([block("demo")], opened)).toEqual(["line 3: no test runs demo"]);
    expect(unrunBlocks([block("demo")], [...opened, 'guide.start("demo")'])).toEqual([]);
  });

  it("is not taken for run because a test has the word somewhere", () => {
    const mentioned = ['const expected = ["drain"];', 'it("drain", async () => {});', 'guide.write("drain", text)'];
    expect(unrunBlocks([block("drain")], mentioned)).toEqual(["line 3: no test runs drain"]);
    for (const call of [
      'guide.run(\n  "look",\n  "drain",\n)',
      'block("drain").text',
      'it.each(["look", "drain"])("%s")',
      'const names = ["look", "drain"];\nfor (const name of names) await guide.run(name);',
      'const library = { file: "drain" };',
    ]) {
      expect(unrunBlocks([block("drain")], [call])).toEqual([]);
    }
  });

  it("is no matter where it only shows something", () => {
    expect(unrunBlocks([block(undefined, ""), block(undefined, "text")], [])).toEqual([]);
  });
});
