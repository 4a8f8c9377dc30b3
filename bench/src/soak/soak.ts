import { setTimeout as pause } from "node:timers/promises";
import type { Report } from "../report.js";
import { type Result, reported } from "../result.js";
import { startServer } from "../server.js";
import { latencyPercentile } from "./latency-histogram.js";
import { type LoadName, loadNames, SoakCluster } from "./soak-cluster.js";
import { type SoakSample, verdictsOf } from "./soak-verdicts.js";

export const usualMinutes = 30;
/** How long the highest rate of each load is looked for, and whether all three keep up; the first part does not count. */
const peakWarmUpMs = 10_000;
const peakMs = 20_000;
/** The highest rate that all three keep up with is found to a thirty-second of their thirds. */
const halvings = 5;
/** Whoever has so much of what was due arrive in time keeps up. */
const keptShare = 0.98;
const heldShare = 0.5;
const lookEveryMs = 5_000;
/** A collection stops the leader for some milliseconds, so not every look has one. */
const looksPerCollection = 4;
/** Of the time, and twelve minutes at most: the usual alert rules look back for ten, and what they read is kept so long. */
const warmUpShare = 0.4;
const longestWarmUpMinutes = 12;

type Rates = Readonly<Record<LoadName, number>>;

/** Half an hour at half of the rate that the cluster can do: what grows, and what gets slower. */
export async function runSoak(
  minutes: number | null,
  progress: (text: string) => void,
): Promise<Pick<Report, "results" | "curves">> {
  const length = minutes ?? usualMinutes;
  const server = await startServer();
  const cluster = await SoakCluster.start(server);
  const { share, peak, half, samples } = await cluster.whileItLeads(() => load(cluster, length, progress));
  const warmUpMinutes = Math.min(longestWarmUpMinutes, length * warmUpShare);
  const rates = loadNames.flatMap((name): Result[] => [
    reported(
      `soak_${name}_share_rate`,
      share[name],
      "a second",
      "a third of what it reaches alone: three share the cluster",
    ),
    reported(`soak_${name}_peak_rate`, peak[name], "a second", "the most with which all three keep up at once"),
    reported(`soak_${name}_rate`, half[name], "a second", "held for the whole soak"),
  ]);
  const results = [
    ...verdictsOf(samples, warmUpMinutes),
    ...rates,
    reported("soak_minutes", length, "min"),
    reported("soak_warm_up", warmUpMinutes, "min", "left out of all verdicts"),
  ];
  return { results, curves: curvesOf(samples) };
}

async function load(cluster: SoakCluster, minutes: number, progress: (text: string) => void) {
  progress("three nodes are up; looking for the highest rate of each load");
  const share = await findShares(cluster);
  progress(`a third each of what they reach alone is ${describe(share)}; looking for what they keep up with at once`);
  const peak = await findPeak(cluster, share);
  const half = ratesOf((name) => peak[name] * heldShare);
  progress(`they keep up with ${describe(peak)}; so ${describe(half)} for ${minutes} min`);
  await cluster.pace(half);
  const samples = await watch(cluster, minutes, progress);
  await cluster.rest();
  return { share, peak, half, samples };
}

/**
 * Each alone, with a bound on what is on its way, and a third of that. All three at once would measure which of them pushes hardest:
 * whoever puts messages into the leader's queue leaves little for what comes over the network.
 */
async function findShares(cluster: SoakCluster): Promise<Rates> {
  const alone: Record<LoadName, number> = { queue: 0, jobs: 0, feed: 0 };
  for (const name of loadNames) {
    await cluster.paceOne(name, null);
    alone[name] = (await arrivalsOf(cluster))[name];
  }
  return ratesOf((name) => alone[name] / loadNames.length);
}

/**
 * The largest part of these rates with which none of the three falls behind. It is less than all: a message over MLLP waits its turn
 * for each step of its way, and those turns come later the more the others do.
 */
async function findPeak(cluster: SoakCluster, share: Rates): Promise<Rates> {
  let [kept, missed] = [0, 1];
  let tried = 1;
  for (let halving = 0; halving <= halvings && kept < 1; halving++) {
    await cluster.pace(ratesOf((name) => share[name] * tried));
    const arrived = await arrivalsOf(cluster);
    if (loadNames.every((name) => arrived[name] >= share[name] * tried * keptShare)) kept = tried;
    else missed = tried;
    tried = (kept + missed) / 2;
  }
  if (kept === 0) throw new Error(`not even ${describe(ratesOf((name) => share[name] * missed))} arrive in time`);
  return ratesOf((name) => share[name] * kept);
}

/** A second, of what is under way now; then all of it comes to rest. */
async function arrivalsOf(cluster: SoakCluster): Promise<Rates> {
  await pause(peakWarmUpMs);
  const before = await cluster.sampleLoads();
  const from = performance.now();
  await pause(peakMs);
  const after = await cluster.sampleLoads();
  const seconds = (performance.now() - from) / 1000;
  await cluster.rest();
  await cluster.sampleLoads();
  return ratesOf((name) => (after[name].arrived - before[name].arrived) / seconds);
}

async function watch(
  cluster: SoakCluster,
  minutes: number,
  progress: (text: string) => void,
): Promise<readonly SoakSample[]> {
  const samples: SoakSample[] = [];
  const startedAt = performance.now();
  for (let look = 1; ; look++) {
    const dueAt = startedAt + look * lookEveryMs;
    if (dueAt > startedAt + minutes * 60_000) return samples;
    await pause(Math.max(0, dueAt - performance.now()));
    const loads = await cluster.sampleLoads();
    const heap = look % looksPerCollection === 0 ? await cluster.sampleHeap() : null;
    const { sessions, deadTuples } = await cluster.sampleDatabase();
    const sample: SoakSample = {
      minute: (performance.now() - startedAt) / 60_000,
      heap,
      rss: await cluster.sampleRss(),
      descriptors: await cluster.sampleDescriptors(),
      sessions,
      deadTuples,
      latencies: { queue: loads.queue.latencies, jobs: loads.jobs.latencies, feed: loads.feed.latencies },
    };
    samples.push(sample);
    if (look % 12 === 0) progress(describeSample(sample));
  }
}

/** Points of [minute, value], for whoever draws them. */
function curvesOf(samples: readonly SoakSample[]): NonNullable<Report["curves"]> {
  const curve = (of: (sample: SoakSample) => number | null): [number, number][] =>
    samples.flatMap((sample) => {
      const value = of(sample);
      return value === null || Number.isNaN(value)
        ? []
        : [[rounded(sample.minute), rounded(value)] as [number, number]];
    });
  return {
    heap: curve(({ heap }) => heap),
    rss: curve(({ rss }) => rss),
    descriptors: curve(({ descriptors }) => descriptors),
    sessions: curve(({ sessions }) => sessions),
    dead_tuples: curve(({ deadTuples }) => deadTuples),
    queue_p99: curve(({ latencies }) => latencyPercentile([latencies.queue], 0.99)),
    jobs_p99: curve(({ latencies }) => latencyPercentile([latencies.jobs], 0.99)),
    feed_p99: curve(({ latencies }) => latencyPercentile([latencies.feed], 0.99)),
  };
}

function rounded(value: number): number {
  return Number(value.toPrecision(5));
}

function ratesOf(rate: (name: LoadName) => number): Rates {
  return { queue: rate("queue"), jobs: rate("jobs"), feed: rate("feed") };
}

function describe({ queue, jobs, feed }: Rates): string {
  return `${queue.toFixed(0)} messages, ${jobs.toFixed(0)} jobs and ${feed.toFixed(0)} HL7 messages a second`;
}

function describeSample({ minute, rss, descriptors, sessions, deadTuples, latencies }: SoakSample): string {
  const p99 = loadNames.map((name) => `${name} ${latencyPercentile([latencies[name]], 0.99).toFixed(0)} ms`).join(", ");
  const memory = rss === null ? "" : `${rss.toFixed(0)} MB, `;
  return `minute ${minute.toFixed(1)}: ${memory}${descriptors ?? "?"} descriptors, ${sessions} sessions, ${deadTuples} dead tuples; p99 ${p99}`;
}
