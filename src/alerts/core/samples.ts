import type { Matcher, Selector } from "./expression.js";
import { keyOf, type Labels, parseSeries } from "./labels.js";
import { hasName, matches, nameOf } from "./selector.js";
import type { Sample, Vector } from "./vector.js";

/**
 * What was read of all metrics at one time. A series is named as Prometheus' text format writes it, `name{label="value"}`. One that
 * is missing from a round is gone from then on, however recent its last value is.
 */
export interface Round {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly series: ReadonlyMap<string, number>;
}

/** A value is taken for the present one for so long where no round has come since. */
export const lookbackMs = 5 * 60_000;

export interface Point {
  readonly at: number;
  readonly value: number;
}

/** A series over a stretch of time, oldest first. */
export interface Stretch {
  readonly labels: Labels;
  readonly points: readonly Point[];
}

interface KnownSeries {
  readonly labels: Labels;
  readonly key: string;
}

/** Rounds, made ready to be evaluated over, by many conditions. */
export class Samples {
  private readonly rounds: readonly Round[];
  private readonly known = new Map<string, KnownSeries | null>();
  private names: ReadonlySet<string> | null = null;

  constructor(rounds: readonly Round[]) {
    this.rounds = rounds.toSorted((a, b) => a.at - b.at);
  }

  /** The values that stand at that time. Sorted, so that a sum is the same on every node. */
  at(selector: Selector, atMs: number): Vector {
    const time = atMs - selector.offsetMs;
    const round = this.rounds.findLast(({ at }) => at <= time);
    if (round === undefined || round.at < time - lookbackMs) return [];
    const found = new Map<string, Sample>();
    for (const [series, { key, labels }] of this.matched(selector.matchers, round.series.keys())) {
      const value = round.series.get(series);
      if (value !== undefined) found.set(key, { labels, value });
    }
    return sorted(found);
  }

  /** The values of the stretch that ends then; both ends are in it. */
  over(selector: Selector, rangeMs: number, atMs: number): readonly Stretch[] {
    const until = atMs - selector.offsetMs;
    const found = new Map<string, { readonly labels: Labels; readonly points: Point[] }>();
    // Each series is looked at once, and not again in every round.
    this.names ??= namesIn(this.rounds);
    const wanted = this.matched(selector.matchers, this.names);
    for (const { at, series: values } of this.rounds) {
      if (at < until - rangeMs || at > until) continue;
      for (const [series, { key, labels }] of wanted) {
        const value = values.get(series);
        if (value === undefined) continue;
        const stretch = found.get(key) ?? { labels, points: [] };
        found.set(key, stretch);
        if (stretch.points.at(-1)?.at !== at) stretch.points.push({ at, value });
      }
    }
    return sorted(found);
  }

  private matched(matchers: readonly Matcher[], series: Iterable<string>): readonly (readonly [string, KnownSeries])[] {
    const name = nameOf(matchers);
    const matching: (readonly [string, KnownSeries])[] = [];
    for (const one of series) {
      if (name !== null && !hasName(one, name)) continue;
      const known = this.knownSeries(one);
      if (known !== null && matches(matchers, known.labels)) matching.push([one, known]);
    }
    return matching;
  }

  private knownSeries(series: string): KnownSeries | null {
    const before = this.known.get(series);
    if (before !== undefined) return before;
    const labels = parseSeries(series);
    const known = labels === null ? null : { labels, key: keyOf(labels) };
    this.known.set(series, known);
    return known;
  }
}

function namesIn(rounds: readonly Round[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { series } of rounds) for (const name of series.keys()) names.add(name);
  return names;
}

function sorted<Found>(found: ReadonlyMap<string, Found>): readonly Found[] {
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}
