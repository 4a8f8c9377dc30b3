/**
 * What was read of all metrics at one time. A series is named as Prometheus' text format writes it, `name{label="value"}`. One that
 * is missing from a round is gone from then on, however recent its last value is.
 */
export interface Round {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly series: ReadonlyMap<string, number>;
}

/** Rounds, made ready to be evaluated over, by many conditions. */
export interface Samples {
  readonly rounds: readonly Round[];
}

/** The rounds may come in any order. */
export function samplesOf(rounds: readonly Round[]): Samples {
  return { rounds: rounds.toSorted((a, b) => a.at - b.at) };
}
