import { afterEach, describe, expect, it, vi } from "vitest";
import type * as Aggregate from "../../src/alerts/core/aggregate.js";
import type * as LabelsModule from "../../src/alerts/core/labels.js";
import type * as RangeFunctions from "../../src/alerts/core/range-functions.js";
import type * as SamplesModule from "../../src/alerts/core/samples.js";
import { isMissing } from "../support/programs.js";

/** Evaluators that are wrong in one thing each: the comparison with Prometheus is worth something only if it sees them all. */
const core = "../../src/alerts/core";

async function differencesSeen(): Promise<readonly string[]> {
  const { compare } = await import("../support/promql-comparison.js");
  const { corpusAt } = await import("../support/promql-corpus.js");
  const { evaluate } = await import("../../src/alerts/core/evaluate.js");
  return (await compare([corpusAt(355_000)], evaluate)).differences;
}

describe.skipIf(isMissing("promtool"))("the comparison with Prometheus", { timeout: 180_000 }, () => {
  afterEach(() => {
    vi.doUnmock(`${core}/range-functions.js`);
    vi.doUnmock(`${core}/aggregate.js`);
    vi.doUnmock(`${core}/labels.js`);
    vi.doUnmock(`${core}/samples.js`);
    vi.resetModules();
  });

  it("sees an increase that is not extrapolated to the ends of its range", async () => {
    vi.doMock(`${core}/range-functions.js`, async (original) => {
      const actual = await original<typeof RangeFunctions>();
      const within = (window: RangeFunctions.Window): RangeFunctions.Window => {
        const ends = window.points.map(({ at }) => at);
        return { ...window, fromMs: Math.min(...ends), untilMs: Math.max(...ends) };
      };
      const overTime: typeof actual.overTime = (name, window) =>
        actual.overTime(name, name === "increase" ? within(window) : window);
      return { ...actual, overTime };
    });
    const seen = await differencesSeen();
    expect(seen.join("\n")).toContain("increase(req_total[17s])");
    expect(seen.every((difference) => /increase\s*\(/.test(difference))).toBe(true);
  });

  it("sees a counter's reset that is taken for a loss", async () => {
    vi.doMock(`${core}/range-functions.js`, async (original) => {
      const actual = await original<typeof RangeFunctions>();
      const overTime: typeof actual.overTime = (name, window) =>
        actual.overTime(name === "increase" ? "delta" : name, window);
      return { ...actual, overTime };
    });
    expect((await differencesSeen()).join("\n")).toContain("increase(req_total[5m])");
  });

  it("sees a label that is dropped", async () => {
    vi.doMock(`${core}/aggregate.js`, async (original) => {
      const actual = await original<typeof Aggregate>();
      const aggregate: typeof actual.aggregate = (aggregation, vector) =>
        actual.aggregate(aggregation, vector).map(({ labels, value }) => ({
          labels: new Map([...labels].filter(([name]) => name !== "code")),
          value,
        }));
      return { ...actual, aggregate };
    });
    expect((await differencesSeen()).join("\n")).toContain("by (node, code,)");
  });

  it("sees a metric's name that is kept", async () => {
    vi.doMock(`${core}/labels.js`, async (original) => ({
      ...(await original<typeof LabelsModule>()),
      withoutName: (labels: LabelsModule.Labels) => labels,
    }));
    expect((await differencesSeen()).join("\n")).toContain("bare + 1");
  });

  it("sees a range that leaves out its first instant", async () => {
    vi.doMock(`${core}/samples.js`, async (original) => {
      const actual = await original<typeof SamplesModule>();
      class Late extends actual.Samples {
        override over(...[selector, rangeMs, atMs]: Parameters<SamplesModule.Samples["over"]>) {
          return super.over(selector, rangeMs - 1, atMs);
        }
      }
      return { ...actual, Samples: Late };
    });
    expect((await differencesSeen()).join("\n")).toContain("count_over_time(req_total[1m])");
  });

  it("sees series that live on after they have gone", async () => {
    vi.doMock(`${core}/samples.js`, async (original) => {
      const actual = await original<typeof SamplesModule>();
      class Faithful extends actual.Samples {
        override at(...[selector, atMs]: Parameters<SamplesModule.Samples["at"]>) {
          return super.over(selector, actual.lookbackMs, atMs).flatMap(({ labels, points }) => {
            const last = points.at(-1);
            return last === undefined ? [] : [{ labels, value: last.value }];
          });
        }
      }
      return { ...actual, Samples: Faithful };
    });
    expect((await differencesSeen()).join("\n")).toContain("early_total");
  });
});
