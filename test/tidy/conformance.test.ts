import { describe, expect, it } from "vitest";
import { readSource, repositoryPaths } from "./source-tree.js";

const guide = "docs/guides/node-controller.md";

/** Each rule of the table, and the test file that its row names. */
function rulesOf(text: string): readonly (readonly [string, string])[] {
  return [...text.matchAll(/^\| (N\d+) +\|.*\]\(\.\.\/\.\.\/(test\/[^)]+)\)/gm)].map(
    ([, rule = "", file = ""]) => [rule, file] as const,
  );
}

/** The rules that the titles of a file's tests name, as often as they do. */
function namedIn(text: string): readonly string[] {
  const titles = [...text.matchAll(/\b(?:test|it)(?:\.concurrent)?\(\s*(["'`])(.*?)\1/gs)].map(
    ([, , title = ""]) => title,
  );
  return titles.flatMap((title) => /\((N\d+(?:, N\d+)*)\)$/.exec(title)?.[1]?.split(", ") ?? []);
}

describe("the rules of the node-controller", () => {
  const rules = rulesOf(readSource(guide).text);
  const tests = repositoryPaths().filter((path) => /^test\/(?!tidy\/).*\.test\.ts$/.test(path));
  const named = tests.flatMap((path) => namedIn(readSource(path).text).map((rule) => `${rule} ${path}`));

  it("are numbered without a gap", () => {
    expect(rules.map(([rule]) => rule)).toEqual(rules.map((_, index) => `N${index + 1}`));
    expect(rules.length).toBeGreaterThanOrEqual(16);
  });

  it("are each named by exactly one test, in the file that the guide says", () => {
    expect(named.toSorted()).toEqual(rules.map((rule) => rule.join(" ")).toSorted());
  });

  it("would be missed: a title that names none, and one that names two", () => {
    expect(namedIn('it("keeps it", () => {}); test.concurrent("rejects (N6)", f)')).toEqual(["N6"]);
    expect(namedIn('test(\n  "serves (N5, N8)",\n  f)')).toEqual(["N5", "N8"]);
  });
});
