import { describe, expect, it } from "vitest";
import type { Json } from "./job.js";
import { isDeeperThan } from "./json-depth.js";

const nested = (levels: number): Json => {
  let value: Json = 1;
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { in: value };
  return value;
};

describe("JSON is deeper than so many levels", () => {
  it("when arrays and objects are nested more often, wherever that is", () => {
    expect(isDeeperThan(nested(3), 3)).toBe(false);
    expect(isDeeperThan(nested(4), 3)).toBe(true);
    expect(isDeeperThan({ shallow: 1, deep: [0, nested(3)] }, 4)).toBe(true);
    for (const flat of [null, 1, "[[[[", true]) expect(isDeeperThan(flat, 0)).toBe(false);
  });

  it("without going all the way: so deep that it could not be written, and round in circles", () => {
    expect(isDeeperThan(nested(1_000_000), 128)).toBe(true);
    const circle: Json[] = [];
    circle.push(circle);
    expect(isDeeperThan(circle, 128)).toBe(true);
  });
});
