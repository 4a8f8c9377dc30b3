import { describe, expect, it } from "vitest";
import { parseCondition } from "./parse-condition.js";

function refusal(text: string): string {
  const parsed = parseCondition(text);
  return parsed.kind === "refused" ? `${parsed.reason}\n${parsed.marked}` : "parsed";
}

describe("a condition", () => {
  it.each([
    "sum(holdfast_leader_is_leader{role='scheduler'}) == 0",
    "sum(increase(holdfast_leader_failovers_total[5m])) > 5",
    "histogram_quantile(0.9, sum by (le) (rate(x_bucket[5m]))) > 0.5 and on () y offset 10m == 1",
    "vector(1)",
    "up # here",
    "max_over_time(up[1h])",
    "rate(up[30m] offset 30m)",
    `up${" or up".repeat(200)}`,
  ])("%s is taken", (text) => {
    expect(parseCondition(text).kind).toBe("parsed");
  });

  it.each([
    ["deriv(up[5m]) > 0", 'a function "deriv"; docs/reference/promql.md has those that they may', 0],
    ["rates(up[5m]) > 0", 'a function "rates"; they may use rate', 5],
    ["1 + nosuch(up)", 'conditions may not use a function "nosuch"', 10],
    ["topk(3, up)", "conditions may not use topk; they may use sum, avg, min, max, count", 0],
    ["up + stddev(up)", "conditions may not use stddev", 5],
    ["up[5m:1m]", "conditions may not use subqueries", 0],
    ["rate(up[5m] @ 5)", 'conditions may not use "@"', 5],
    ["up atan2 up", 'conditions may not use "atan2"', 3],
    ["up offset -5m", '"-5m" is no duration', 10],
    ["rate(up[90m])", "it reaches further back than the hour that is kept", 5],
    ["rate(up[30m] offset 31m)", "it reaches further back than the hour that is kept", 5],
    ["up > 1_000", '"1_000" is no number', 5],
    ["up > 5m", '"5m" is no number', 5],
    ["up > 010", '"010" is no number', 5],
    ["rate(up[300])", '"300" is no duration', 8],
    ['up{node=~"(a"}', "the pattern is not taken", 9],
    ['{"up"}', "a label's name has no quotes", 1],
    ['up{node="a}', "the text has no closing quote", 8],
    ['up{node="\\q"}', '"\\q" means nothing in a text', 9],
    ["{}", "it would take every series there is", 0],
    ["1 == bool 1", "it gives a mere number", 0],
    ["up[5m]", "it gives a stretch of values", 0],
    ["1 > 2", 'two numbers are compared with bool: "> bool"', 2],
    ["up and 1", "and stands between series, and one side is a number", 3],
    ["up + bool up", 'bool belongs to comparisons, and "+" is none', 3],
    ["rate(up)", 'rate takes series over a range like "[5m]", and this is series with a value each', 5],
    ["abs(1) > 0", "abs takes series with a value each, and this is a number", 4],
    ["clamp_min(up) > 0", "clamp_min takes 2 arguments, and here are 1", 0],
    ["round(up, 1, 2)", "round takes 1 or 2 arguments, and here are 3", 0],
    ["sum(up", "it ends too early", 6],
    ["up == ", "it ends too early", 6],
    ["up up", "it cannot be read from here on", 3],
    ["", "it is empty", 0],
    ["  ", "it is empty", 0],
    ["# nothing", "it is empty", 0],
  ])("%s is refused, with the place", (text, reason, column) => {
    const [said = "", line, mark = ""] = refusal(text).split("\n");
    expect(said).toContain(reason);
    expect(line).toBe(text);
    expect(mark).toBe(`${" ".repeat(column)}^`);
  });

  it("that is much too long is refused, and not read", () => {
    expect(refusal(`up + ${"1 + ".repeat(2_000)}1`)).toContain("it is longer than 4000 characters");
  });

  it.each([`${"(".repeat(1_900)}up${")".repeat(1_900)}`, `${"-".repeat(3_900)}up`, `up${" + up".repeat(700)}`])(
    "that nests without end is refused, and does no harm",
    (text) => {
      expect(refusal(text)).toContain("it nests deeper than anybody could follow");
    },
  );

  it("has its place marked in its own line, below tabs too", () => {
    expect(refusal("sum(up)\n\t> 5m\nor up")).toBe('"5m" is no number\n\t> 5m\n\t  ^');
  });
});
