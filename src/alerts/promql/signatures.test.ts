import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { aggregationOperators, binaryOperators, functionNames } from "./signatures.js";

const reference = await readFile(new URL("../../../docs/reference/promql.md", import.meta.url), "utf8");
const section = (title: string): string => reference.split(`## ${title}\n`)[1]?.split("\n## ")[0] ?? "";
const inCode = (text: string): readonly string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);

describe("the reference of conditions", () => {
  it("has every function that they may use, and no other", () => {
    const named = section("Functions").split("Aggregations:")[0] ?? "";
    const cells = [...named.matchAll(/^\| (`[^|]+)\|/gm)].map(([, cell = ""]) => cell);
    const functions = cells.flatMap(inCode).map((code) => code.replace(/\(.*$/, ""));
    expect(new Set(functions)).toEqual(new Set(functionNames));
  });

  it("has every aggregation and every operator", () => {
    const aggregations = inCode(section("Functions").split("Aggregations:")[1] ?? "");
    expect(aggregations.slice(0, aggregationOperators.length)).toEqual(aggregationOperators);
    const [order = ""] = section("Operators")
      .split("\n\n")
      .filter((paragraph) => paragraph.includes("From what binds"));
    expect(new Set(inCode(order))).toEqual(new Set(binaryOperators));
  });

  it("leaves out nothing that they may use", () => {
    const leftOut = inCode(section("What is left out"));
    expect(leftOut.length).toBeGreaterThan(10);
    expect(
      leftOut.filter((name) => [...functionNames, ...aggregationOperators].some((known) => known === name)),
    ).toEqual([]);
  });
});
