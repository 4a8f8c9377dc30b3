import { describe, expect, it } from "vitest";
import { parseCondition } from "../promql/parse-condition.js";
import { evaluate } from "./evaluate.js";
import type { Expression } from "./expression.js";
import { writeSeries } from "./labels.js";
import { isNeeded, keptMs, selectorsOf } from "./needed-series.js";
import { type Round, Samples } from "./samples.js";

function expressionOf(text: string): Expression {
  const parsed = parseCondition(text);
  if (parsed.kind === "refused") throw new Error(parsed.reason);
  return parsed.expression;
}

function valuesOf(text: string, rounds: readonly Round[], atMs: number): readonly string[] {
  const evaluation = evaluate(expressionOf(text), new Samples(rounds), atMs);
  if (evaluation.kind !== "vector") throw new Error(evaluation.kind);
  return evaluation.samples.map(({ labels, value }) => `${writeSeries(labels)} ${value}`);
}

const round = (at: number, series: Readonly<Record<string, number>>): Round => ({
  at,
  series: new Map(Object.entries(series)),
});

/** What else there is to say about evaluation, test/integration/promtool-comparison.test.ts says by Prometheus' own mouth. */
describe("a condition over rounds", () => {
  it("does not see a node that is missing from the last round", () => {
    const rounds = [round(0, { 'up{node="a"}': 1, 'up{node="b"}': 1 }), round(5_000, { 'up{node="a"}': 1 })];
    expect(valuesOf("up", rounds, 4_999)).toEqual(['up{node="a"} 1', 'up{node="b"} 1']);
    expect(valuesOf("up", rounds, 5_000)).toEqual(['up{node="a"} 1']);
    expect(valuesOf("count_over_time(up[10s])", rounds, 5_000)).toEqual(['{node="a"} 2', '{node="b"} 1']);
  });

  it("takes the last round for the present one for five minutes, and then knows nothing", () => {
    const rounds = [round(0, { up: 1 })];
    expect(valuesOf("up", rounds, 300_000)).toEqual(["up 1"]);
    expect(valuesOf("up", rounds, 300_001)).toEqual([]);
  });

  it("does not depend on the order of rounds, of series or of labels", () => {
    const rounds = [
      round(0, { 'm{a="1",b="2"}': 1, 'm{a="2"}': 0.1 }),
      round(5_000, { 'm{a="2"}': 0.2, 'm{b="2",a="1"}': 3 }),
    ];
    const sum = valuesOf("sum(m) + sum(increase(m[1m]))", rounds, 5_000);
    expect(valuesOf("sum(m) + sum(increase(m[1m]))", rounds.toReversed(), 5_000)).toEqual(sum);
    expect(valuesOf("count_over_time(m[1m])", rounds, 5_000)).toEqual(['{a="1", b="2"} 2', '{a="2"} 2']);
  });

  it("passes over what is no series", () => {
    expect(valuesOf('{a="1"}', [round(0, { 'm{a="1"}': 1, "m{a": 2, "": 3 })], 0)).toEqual(['m{a="1"} 1']);
  });

  it("says why where series do not fit each other", () => {
    const samples = new Samples([round(0, { 'a{x="1"}': 1, 'a{x="2"}': 1, b: 1 })]);
    expect(evaluate(expressionOf("b * on () a"), samples, 0)).toEqual({
      kind: "failed",
      reason: "several series on the right side have {}",
    });
    expect(evaluate(expressionOf("a * on () b"), samples, 0)).toMatchObject({ kind: "failed" });
  });
});

describe("the series that a condition needs", () => {
  const needed = selectorsOf(
    expressionOf('sum(rate(m{a="1"}[10m] offset 2m)) > 0 and on () n == 1 or absent({b=~"x.*"})'),
  );

  it("are those that its selectors match", () => {
    expect(needed.map(({ backMs }) => backMs / 60_000)).toEqual([12, 5, 5]);
    expect(keptMs(needed)).toBe(720_000);
    const series = ['m{a="1"}', 'm{a="2"}', "m", "n", 'n{a="2"}', "mm", 'o{b="xy"}', 'o{b="y"}', "no_name"];
    expect(series.filter((one) => isNeeded(needed, one))).toEqual(['m{a="1"}', "n", 'n{a="2"}', 'o{b="xy"}']);
  });

  it("are enough: nothing else changes the answer", () => {
    const all = [
      round(0, { 'm{a="1"}': 1, 'm{a="2"}': 5, n: 1 }),
      round(60_000, { 'm{a="1"}': 4, 'm{a="2"}': 5, n: 1 }),
    ];
    const enough = all.map(({ at, series }) => ({
      at,
      series: new Map([...series].filter(([one]) => isNeeded(needed, one))),
    }));
    const text = 'sum(rate(m{a="1"}[10m])) > 0 and on () n == 1';
    expect(valuesOf(text, enough, 60_000)).toEqual(valuesOf(text, all, 60_000));
    expect(valuesOf(text, enough, 60_000)).toHaveLength(1);
  });
});
