import { expect, test } from "vitest";
import { similar } from "./nearest.js";

const known = ["kind", "folder", "pattern", "host"];

test.each([
  ["foldr", "folder"],
  ["hots", "host"],
  ["PATERN", "pattern"],
])("%s was meant to be %s", (written, meant) => {
  expect(similar(written, known)).toBe(meant);
});

test.each(["dir", "where", "directory"])("%s is like nothing that is known", (written) => {
  expect(similar(written, known)).toBeNull();
});
