import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fencedBlocks, snippet, snippets } from "./snippets.js";

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-test-"));
  path = join(folder, "guide.md");
});

afterEach(() => rmSync(folder, { recursive: true }));

function write(...lines: readonly string[]): void {
  writeFileSync(path, `${lines.join("\n")}\n`);
}

test("a block behind a marker is taken as it is printed, with its language and its line", () => {
  write("# Guide", "", "<!-- run: cron -->", "```js", "one();", "", "  two();", "```", "", "```sh", "npm ci", "```");
  expect(snippets(path)).toEqual([{ name: "cron", language: "js", text: "one();\n\n  two();\n", line: 4 }]);
});

test("an empty line may stand between the two, and a file's name is a name", () => {
  write("<!-- file: holdfast.toml -->", "", "```toml", "[store]", "```");
  expect(snippets(path)).toEqual([{ name: "holdfast.toml", language: "toml", text: "[store]\n", line: 3 }]);
});

test("a block within a list comes without its indentation, and a longer fence holds a shorter one", () => {
  write("- so:", "", "  <!-- run: a -->", "  ```sh", "  echo 1", "    echo 2", "  ```");
  expect(snippet(path, "a").text).toBe("echo 1\n  echo 2\n");
  write("<!-- run: b -->", "````md", "```js", "```", "````");
  expect(snippet(path, "b")).toMatchObject({ language: "md", text: "```js\n```\n" });
});

test("blocks without a marker are there for whoever asks for all of them", () => {
  write("```sh", "npm ci", "```", "<!-- run: a -->", "```js", "```");
  expect(fencedBlocks(path).map(({ name, line }) => ({ name, line }))).toEqual([
    { name: undefined, line: 1 },
    { name: "a", line: 5 },
  ]);
});

test.each([
  { what: "a marker without a block", lines: ["<!-- run: a -->", "Text."], complaint: /:1 names a block, and none/ },
  { what: "a marker at the end", lines: ["Text.", "<!-- run: a -->"], complaint: /:2 names a block, and none/ },
  { what: "an open fence", lines: ["", "```js", "one();"], complaint: /:2 opens a block that nothing closes/ },
  {
    what: "a name that is given twice",
    lines: ["<!-- run: a -->", "```js", "```", "<!-- run: a -->", "```js", "```"],
    complaint: /:5 is the second block with the name a/,
  },
])("$what is an error that says where", ({ lines, complaint }) => {
  write(...lines);
  expect(() => snippets(path)).toThrow(complaint);
});

test("a name that is not there is an error that lists those that are", () => {
  write("<!-- run: a -->", "```js", "```");
  expect(() => snippet(path, "b")).toThrow(/no block with the name b, but a/);
});
