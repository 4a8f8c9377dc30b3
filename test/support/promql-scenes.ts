import fc from "fast-check";
import type { Round } from "../../src/alerts/core/samples.js";
import type { Scene } from "./promtool.js";

/** Series and expressions over them, drawn at random from the subset of PromQL that conditions may use. */

const stepMs = 5_000;

const labelSets = ["", '{a="x"}', '{a="y"}', '{a="x",b="1"}', '{a="y",b="1"}', '{a="x",b="2"}', '{b="2",c="z z"}'];
const bounds = ["0.1", "0.5", "1", "+Inf"];
const seriesNames = [
  ...["m_total", "n_total", "g"].flatMap((name) => labelSets.map((labels) => `${name}${labels}`)),
  ...["x", "y"].flatMap((a) => bounds.map((le) => `h_bucket{a="${a}",le="${le}"}`)),
];

const gaugeValue = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: -8, max: 8 }) },
  { weight: 3, arbitrary: fc.constantFrom(0.5, 2.25, 1e6, -0.125) },
  { weight: 1, arbitrary: fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY) },
);

/** How a counter goes on from a round to the next: mostly up, sometimes back to where it began. */
const counterStep = fc.oneof(
  { weight: 10, arbitrary: fc.integer({ min: 0, max: 6 }) },
  { weight: 1, arbitrary: fc.constant(null) },
);

interface DrawnSeries {
  readonly name: string;
  readonly first: number;
  readonly last: number;
  readonly gap: number | null;
  readonly values: readonly number[];
}

const drawnSeries = (name: string, steps: number): fc.Arbitrary<DrawnSeries> => {
  const counter = fc.tuple(
    fc.integer({ min: 0, max: 20 }),
    fc.array(counterStep, { minLength: steps, maxLength: steps }),
  );
  const values = name.startsWith("g")
    ? fc.array(gaugeValue, { minLength: steps, maxLength: steps })
    : counter.map(([start, increments]) => {
        let value = start;
        return increments.map((increment) => {
          value = increment === null ? 0 : value + increment;
          return value;
        });
      });
  return fc.record({
    name: fc.constant(name),
    first: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: steps })),
    last: fc.oneof(fc.constant(steps), fc.integer({ min: 0, max: steps })),
    gap: fc.option(fc.integer({ min: 0, max: steps }), { nil: null }),
    values,
  });
};

const rounds: fc.Arbitrary<readonly Round[]> = fc.integer({ min: 2, max: 30 }).chain((steps) =>
  fc
    .tuple(
      fc
        .subarray(seriesNames, { minLength: 3, maxLength: 16 })
        .chain((names) => fc.tuple(...names.map((name) => drawnSeries(name, steps)))),
      // Some rounds did not take place.
      fc.array(
        fc.boolean().chain((often) => (often ? fc.constant(true) : fc.boolean())),
        { minLength: steps, maxLength: steps },
      ),
    )
    .map(([series, held]) =>
      held.flatMap((isHeld, step) => (isHeld ? [{ at: step * stepMs, series: valuesAt(series, step) }] : [])),
    ),
);

function valuesAt(series: readonly DrawnSeries[], step: number): ReadonlyMap<string, number> {
  const there = series.filter(({ first, last, gap }) => step >= first && step < last && step !== gap);
  return new Map(there.map(({ name, values }) => [name, values[step] ?? 0]));
}

const metric = fc.constantFrom("m_total", "n_total", "g", "h_bucket");
const matchers = fc.constantFrom(
  "",
  '{a="x"}',
  '{a!="x"}',
  '{a=~"x|y"}',
  '{b!~"[0-1]+"}',
  '{b=""}',
  '{a=~".*",b="1"}',
  '{c=~"z.z"}',
  '{a="x",a="y"}',
);
const selector = fc.tuple(metric, matchers).map(([name, braces]) => `${name}${braces}`);
const byName = fc.constantFrom('{__name__=~"m_.+"}', '{__name__=~"[mn]_total",a="x"}', '{a="x",__name__!="g"}');
const offset = fc.constantFrom("", "", "", " offset 5s", " offset 17s", " offset 1m");
const range = fc.constantFrom("[5s]", "[10s]", "[13s]", "[30s]", "[1m]", "[1m30s]", "[5m]");
const instant = fc
  .tuple(fc.oneof({ weight: 6, arbitrary: selector }, { weight: 1, arbitrary: byName }), offset)
  .map((parts) => parts.join(""));
const stretch = fc.tuple(selector, range, offset).map((parts) => parts.join(""));
const rangeFunction = fc.oneof(
  fc.constantFrom("rate", "increase", "irate", "delta", "changes", "resets"),
  fc.constantFrom("avg", "min", "max", "sum", "count", "last").map((name) => `${name}_over_time`),
);
const aggregation = fc.constantFrom("sum", "avg", "min", "max", "count");
const grouping = fc.constantFrom(
  "",
  "by (a)",
  "by (a, b)",
  "without (b)",
  "without (a)",
  "by (__name__)",
  "by ()",
  "without (le)",
  "by (le, a)",
);
const number = fc.constantFrom("0", "1", "2", "-1", "0.5", "3", "1e3", "Inf", "-Inf", "NaN");
const arithmetic = fc.constantFrom("+", "-", "*", "/", "^");
const comparison = fc.constantFrom("==", "!=", ">", "<", ">=", "<=");
const compared = fc.tuple(comparison, fc.constantFrom("", "", " bool")).map(([operator, bool]) => `${operator}${bool}`);
const matching = fc.oneof(
  fc.constantFrom("", "", "on (a)", "on ()", "ignoring (b)", "on (a, b)", "ignoring (a, le)"),
  fc.constantFrom("on (a) group_left", "on (a) group_right", "ignoring (b) group_left (c)", "on (a) group_right (b)"),
);
const setMatching = fc.constantFrom("", "on (a)", "on ()", "ignoring (b)", "on (a, b)");

const { vector } = fc.letrec<{ vector: string; scalar: string }>((tie) => ({
  scalar: fc.oneof(
    { maxDepth: 3, depthIdentifier: "expression" },
    number,
    tie("vector").map((of) => `scalar(${of})`),
    fc.tuple(tie("scalar"), arithmetic, tie("scalar")).map(([a, operator, b]) => `(${a} ${operator} ${b})`),
    fc.tuple(tie("scalar"), comparison, tie("scalar")).map(([a, operator, b]) => `(${a} ${operator} bool ${b})`),
    fc.constant("time()"),
  ),
  vector: fc.oneof(
    { maxDepth: 3, depthIdentifier: "expression" },
    instant,
    fc.tuple(rangeFunction, stretch).map(([name, of]) => `${name}(${of})`),
    fc.tuple(aggregation, grouping, tie("vector")).map(([name, by, of]) => `${name} ${by} (${of})`),
    fc
      .tuple(fc.constantFrom("abs", "ceil", "floor", "round", "absent", "-", "+"), tie("vector"))
      .map(([name, of]) => `${name}(${of})`),
    fc
      .tuple(fc.constantFrom("clamp_min", "clamp_max", "round"), tie("vector"), tie("scalar"))
      .map(([name, of, by]) => `${name}(${of}, ${by})`),
    fc
      .tuple(
        fc.constantFrom("0.5", "0.9", "0", "1", "1.5", "-1"),
        fc.constantFrom("h_bucket", "rate(h_bucket[1m])", "sum by (le) (h_bucket)"),
      )
      .map(([quantile, of]) => `histogram_quantile(${quantile}, ${of})`),
    fc
      .tuple(tie("vector"), fc.oneof(arithmetic, compared), tie("scalar"))
      .map(([a, operator, b]) => `${a} ${operator} ${b}`),
    fc
      .tuple(tie("scalar"), fc.oneof(arithmetic, compared), tie("vector"))
      .map(([a, operator, b]) => `${a} ${operator} ${b}`),
    fc.tuple(tie("vector"), fc.oneof(arithmetic, compared), matching, tie("vector")).map((parts) => parts.join(" ")),
    fc
      .tuple(tie("vector"), fc.constantFrom("and", "or", "unless"), setMatching, tie("vector"))
      .map((parts) => parts.join(" ")),
    tie("vector").map((of) => `(${of})`),
    tie("scalar").map((of) => `vector(${of})`),
  ),
}));

/** Questions at the last round, at a round before it, beside one, and long after. */
const askedAt = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 30 }).map((step) => step * stepMs) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 150_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 290_000, max: 460_000 }) },
);

export const scenes: fc.Arbitrary<Scene> = fc.record({
  stepMs: fc.constant(stepMs),
  rounds,
  questions: fc.array(fc.record({ expression: vector, atMs: askedAt }), { minLength: 20, maxLength: 20 }),
});
