import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type InstalledProject, installedProject, resultOf } from "./installed-project.js";
import type { Snippet } from "./snippets.js";

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8")) as {
  readonly version: string;
};

function block(name: string, language: string, ...lines: readonly string[]): Snippet {
  return { name, language, text: `${lines.join("\n")}\n`, line: 1 };
}

test("a project has the packed package and runs snippets of each language with it", { timeout: 300_000 }, async () => {
  await using project: InstalledProject = await installedProject({ also: ["express"], env: { GREETING: "hello" } });
  const module = block("node", "js", 'import { createNode } from "holdfast";', "console.log(typeof createNode);");
  expect(await project.run(module)).toEqual({ code: 0, stdout: "function", stderr: "" });

  const types = block(
    "typed",
    "ts",
    'import "express";',
    "const one: number = 1;",
    "console.log(one, process.argv[2]);",
  );
  expect(await project.run(types, { args: ["given"] })).toEqual({ code: 0, stdout: "1 given", stderr: "" });

  const script = block("script", "sh", "npx holdfast --version", 'echo "$GREETING $HOME"', "false", "echo never");
  expect(await project.run(script)).toEqual({
    code: 1,
    stdout: `${version}\nhello ${project.directory}/.home`,
    stderr: "",
  });

  const where = ["node", "--input-type=module", "-e", 'console.log(import.meta.resolve("holdfast"))'];
  const { stdout } = await resultOf(project.command(where));
  expect(stdout).toMatch(/\/holdfast-installed-[^/]+\/\w+\/node_modules\/holdfast\/dist\/index\.js$/);

  await using endless = await project.start(block("endless", "sh", "echo started", "sleep 1000 & wait"));
  await endless.line(/^started$/);
  expect(await endless.end("SIGTERM")).toEqual({ code: null, signal: "SIGTERM" });
});
