import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readSource, repositoryRoot } from "./source-tree.js";

const scripts = (JSON.parse(readSource("package.json").text) as { scripts: Record<string, string> }).scripts;

/** The scripts that a text tells its reader to run. */
function scriptsNamedIn(text: string): readonly string[] {
  const named = text.matchAll(/\bnpm (?:run(?:-script)? (?:-s |--silent )?([\w:.-]*\w)|(test|start)\b)/g);
  return [...new Set([...named].map(([, ran, short]) => ran ?? short ?? ""))];
}

describe("the commands", () => {
  it.each([".ci/run", "README.md", "CONTRIBUTING.md"].filter((path) => existsSync(join(repositoryRoot, path))))(
    "named in %s exist",
    (path) => {
      const named = scriptsNamedIn(readSource(path).text);
      expect(named.length).toBeGreaterThan(0);
      expect(named.filter((name) => !(name in scripts))).toEqual([]);
    },
  );

  it("run files that are there", () => {
    const files = Object.entries(scripts).flatMap(([name, command]) =>
      [...command.matchAll(/\bnode ([\w./-]+\.m?js)/g)].map(([, file = ""]) => ({ name, file })),
    );
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter(({ file }) => !existsSync(join(repositoryRoot, file)))).toEqual([]);
  });

  it("that a change must pass are those that CI runs", () => {
    expect(scriptsNamedIn(readSource(".ci/run").text)).toEqual(["check", "test", "model", "test:long"]);
    expect(statSync(join(repositoryRoot, ".ci/run")).mode & 0o111).not.toBe(0);
  });

  it("are found however they are written", () => {
    expect(
      scriptsNamedIn("`npm test`, npm run test:long, then npm run bench -- gate; npm start. npm ci, npm tests"),
    ).toEqual(["test", "test:long", "bench", "start"]);
  });
});
