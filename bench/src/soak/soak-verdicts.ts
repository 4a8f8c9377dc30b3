import { judged, type Result, reported } from "../result.js";
import { mean, median, slopeOf } from "../statistics.js";
import { type LatencyCounts, latencyPercentile } from "./latency-histogram.js";
import { type LoadName, loadNames } from "./soak-cluster.js";

/** One look at the cluster. */
export interface SoakSample {
  /** Since the load began. */
  readonly minute: number;
  readonly rss: number | null;
  /** Not every look collects garbage. */
  readonly heap: number | null;
  readonly descriptors: number | null;
  readonly sessions: number;
  readonly deadTuples: number;
  readonly latencies: Readonly<Record<LoadName, LatencyCounts>>;
}

const arrivals = {
  queue: "from when a message was due to its handler",
  jobs: "from when a job was due to its agent",
  feed: "from when a message was due to its receiver",
} as const satisfies Record<LoadName, string>;

/** What the looks after the warm-up say. Thirds are of the time after it. */
export function verdictsOf(samples: readonly SoakSample[], warmUpMinutes: number): readonly Result[] {
  const settled = samples.filter(({ minute }) => minute >= warmUpMinutes);
  const third = Math.floor(settled.length / 3);
  if (third === 0) throw new Error(`${settled.length} looks after the warm-up are too few to say anything`);
  const [first, last] = [settled.slice(0, third), settled.slice(-third)];
  const numbers = (part: readonly SoakSample[], of: Level): number[] =>
    part.map((sample) => sample[of]).filter((value) => value !== null);
  const rise = (of: Level): number => median(numbers(last, of)) - median(numbers(first, of));
  const dead = (part: readonly SoakSample[]): number => mean(numbers(part, "deadTuples"));
  const growth = (of: Level, name: string, target: string, words: string): readonly Result[] => {
    const points = settled.flatMap((sample) => {
      const value = sample[of];
      return value === null ? [] : [[sample.minute, value] as const];
    });
    if (points.length < 2) return [];
    const level = mean(points.map(([, value]) => value));
    const percent = ((slopeOf(points) * 10) / level) * 100;
    return [
      judged(
        name,
        percent,
        "% in 10 min",
        target,
        `${words}, least squares over ${points.length} looks, of ${level.toFixed(1)} MB`,
      ),
    ];
  };
  return [
    ...growth("heap", "soak_heap_growth", "<= 1", "the leader's heap after a collection"),
    ...growth("rss", "soak_rss_growth", "reported", "the leader's resident memory"),
    ...(numbers(settled, "descriptors").length === 0
      ? []
      : [
          judged(
            "soak_descriptors_growth",
            rise("descriptors"),
            "descriptors",
            "<= 1",
            levels("descriptors", first, last),
          ),
        ]),
    judged("soak_sessions_growth", rise("sessions"), "sessions", "<= 1", levels("sessions", first, last)),
    judged(
      "soak_dead_tuples_ratio",
      dead(last) / Math.max(1, dead(first)),
      "x",
      "<= 1.2",
      `means of the thirds: ${dead(first).toFixed(0)}, then ${dead(last).toFixed(0)}`,
    ),
    ...loadNames.flatMap((name) => latencyResults(name, first, last, settled)),
  ];
}

type Level = "rss" | "heap" | "descriptors" | "sessions" | "deadTuples";

function levels(of: "descriptors" | "sessions", first: readonly SoakSample[], last: readonly SoakSample[]): string {
  const level = (part: readonly SoakSample[]): number => median(part.map((sample) => sample[of] ?? Number.NaN));
  return `medians of the thirds: ${level(first)}, then ${level(last)}`;
}

function latencyResults(
  name: LoadName,
  first: readonly SoakSample[],
  last: readonly SoakSample[],
  all: readonly SoakSample[],
): readonly Result[] {
  const percentile = (part: readonly SoakSample[], share: number): number =>
    latencyPercentile(
      part.map(({ latencies }) => latencies[name]),
      share,
    );
  const [early, late] = [percentile(first, 0.99), percentile(last, 0.99)];
  const words = `last third's p99 over the first's: ${late.toFixed(1)} over ${early.toFixed(1)} ms`;
  return [
    judged(`soak_${name}_p99_ratio`, late / early, "x", "<= 1.2", words),
    reported(`soak_${name}_p50`, percentile(all, 0.5), "ms", arrivals[name]),
    reported(`soak_${name}_p99`, percentile(all, 0.99), "ms", arrivals[name]),
  ];
}
