import { expect, it } from "vitest";
import { namedStatement } from "./named-parameters.js";

it("gives each name a number, and the same name the same", () => {
  expect(namedStatement("UPDATE t SET a = :a, b = :b_1 WHERE a = :a AND c = :json.c")).toEqual({
    text: "UPDATE t SET a = $1, b = $2 WHERE a = $1 AND c = $3",
    names: ["a", "b_1", "json.c"],
  });
});

it.each([
  ["a cast", "SELECT :a::text", "SELECT $1::text"],
  ["a text", "SELECT ':b', 'it''s :b', :a", "SELECT ':b', 'it''s :b', $1"],
  ["a text with escapes", "SELECT E'\\':b', e'\\\\', :a", "SELECT E'\\':b', e'\\\\', $1"],
  ["a name in quotes", 'SELECT ":b", "x"":b", :a', 'SELECT ":b", "x"":b", $1'],
  ["a line's comment", "SELECT :a -- :b\n", "SELECT $1 -- :b\n"],
  ["comments that nest", "/* :b /* :c */ :d */ SELECT :a", "/* :b /* :c */ :d */ SELECT $1"],
  ["dollar quotes", "SELECT $$ :b $$, $x$ :c $$ $x$, :a", "SELECT $$ :b $$, $x$ :c $$ $x$, $1"],
  ["a slice and an assignment", "SELECT x[1:2], f(y := :a)", "SELECT x[1:2], f(y := $1)"],
])("leaves %s alone", (_what, written, text) => {
  expect(namedStatement(written)).toEqual({ text, names: ["a"] });
});

it("ends with a comment or a text that does not end", () => {
  expect(namedStatement("SELECT :a /* :b").names).toEqual(["a"]);
  expect(namedStatement("SELECT :a, ':b").text).toContain("$1");
});
