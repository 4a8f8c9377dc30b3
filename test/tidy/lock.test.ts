import { describe, expect, it } from "vitest";
import { readSource } from "./source-tree.js";

interface Lock {
  readonly packages: Readonly<Record<string, { readonly optionalDependencies?: Readonly<Record<string, string>> }>>;
}

/** The optional packages that the lock needs and does not have. With even one of them, `npm ci` refuses the lock. */
function missingFrom({ packages }: Lock): readonly string[] {
  const isLocked = (parent: string, name: string): boolean => {
    if (packages[`${parent === "" ? "" : `${parent}/`}node_modules/${name}`]) return true;
    return parent !== "" && isLocked(parent.slice(0, Math.max(0, parent.lastIndexOf("/node_modules/"))), name);
  };
  return Object.entries(packages).flatMap(([parent, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !isLocked(parent, name))
      .map((name) => `${parent} needs ${name}: run \`node scripts/complete-lock.mjs\``),
  );
}

describe("package-lock.json", () => {
  const text = readSource("package-lock.json").text;

  it("holds every platform, so that npm ci accepts it on each", () => {
    expect(missingFrom(JSON.parse(text) as Lock)).toEqual([]);
  });

  it("says nothing of the registry it was made with", () => {
    expect(text).not.toMatch(/"resolved": "\w+:\/\//);
  });

  it("is refused when a platform is missing", () => {
    const tool = { optionalDependencies: { "tool-linux": "1.0.0", "tool-darwin": "1.0.0" } };
    const packages = { "node_modules/a/node_modules/tool": tool, "node_modules/tool-linux": {} };
    expect(missingFrom({ packages })).toEqual([expect.stringContaining("needs tool-darwin")]);
  });
});
