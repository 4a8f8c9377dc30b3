import { describe, expect, it } from "vitest";
import { SourcePlaces } from "./source-place.js";

const root = "/srv/config (new)+";
const bundle = `${root}/[config folder]`;

/** Column 4 of the second line is column 2 of the third line in deep/a b.ts. */
const map = { version: 3, sources: ["deep/a%20b.ts"], names: [], mappings: ";GAEC" };
const text = `var helper;\nthrow helper;\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString("base64")}\n`;
const places = new SourcePlaces({ bundle, root, text });

function errorWith(stack: unknown): Error {
  return Object.defineProperty(new Error("x"), "stack", { value: stack });
}

describe("the place of an error", () => {
  it("is the innermost call within the folder, by its source map", () => {
    const stack = `Error: x\n    at read (node:fs:1:2)\n    at thing (${bundle}:2:4)\n    at other (${bundle}:1:1)`;
    expect(places.of(errorWith(stack))).toBe("deep/a b.ts:3:2");
  });

  it("is where the mark stands, for what cannot be compiled", () => {
    expect(
      places.of(errorWith(`${bundle}:2\nthrow helper;\n   ^\n\nSyntaxError: x\n    at new Script (node:vm:1:2)`)),
    ).toBe("deep/a b.ts:3:2");
  });

  it("is what the stack says where the process maps sources by itself", () => {
    expect(
      places.of(errorWith(`Error: x\n    at route (${root}/rules/adt.ts:7:9)\n    at x (/other/place.js:1:2)`)),
    ).toBe("rules/adt.ts:7:9");
  });

  it.each<[string, unknown]>([
    ["an error of others", errorWith("Error: x\n    at thing (/other/place.js:1:2)")],
    ["an error whose stack was taken away", errorWith(undefined)],
    ["a line that the map does not know", errorWith(`Error: x\n    at thing (${bundle}:1:1)`)],
    ["no error at all", { stack: `${bundle}:2:4` }],
    ["nothing", undefined],
  ])("is not known of %s", (_what, error) => {
    expect(places.of(error)).toBeNull();
  });

  it.each([
    ["what a timer of theirs threw", `at later (${bundle}:2:4)\n    at listOnTimeout (node:internal/timers:1:2)`, true],
    ["what they were called for by others", `at lane (${bundle}:2:4)\n    at run (/srv/engine.js:1:2)`, false],
    ["what others threw", "at run (/srv/engine.js:1:2)", false],
    ["what Node threw by itself", "at fetch (node:internal/deps/undici:1:2)", false],
  ])("tells whether the modules were alone in it: %s", (_what, calls, isAlone) => {
    expect(places.areAllOf(errorWith(`Error: x\n    ${calls}`))).toBe(isAlone);
  });

  it("is not known without a map", () => {
    expect(new SourcePlaces({ bundle, root, text: "throw 1;" }).of(errorWith(`at ${bundle}:1:1`))).toBeNull();
  });
});
