import { setTimeout as pause } from "node:timers/promises";
import { type BenchOptions, roundsOf } from "../bench.js";
import { BenchProcess } from "../bench-process.js";
import { type Result, reported } from "../result.js";
import { median, msBetween, percentile } from "../statistics.js";
import { EtcdClient } from "./etcd-client.js";

/** What `etcdctl elect` and the sessions of etcd's Go client ask for, where nobody says otherwise. */
const defaultTtlSeconds = 60;
/** The shortest that can be asked for; what is granted is the server's to say. */
const shortestTtlSeconds = 1;
const defaultRounds = 3;
const shortestRounds = 10;
const resignRounds = 30;
/** Beyond the longest lease. */
const patienceMs = 120_000;
const lookMs = 5;

/** Two candidates of one election, each in a process of its own. */
interface Pair {
  readonly leader: BenchProcess;
  readonly next: BenchProcess;
  /** As it was granted. */
  readonly ttlSeconds: number;
}

let electionsNamed = 0;

/** SIGKILL of the process that leads, to the win of the next candidate. Rounds side by side, spread over the leases' renewals. */
export async function benchEtcdCrashes(url: string, options: BenchOptions): Promise<readonly Result[]> {
  const [atDefault, atShortest] = await Promise.all([
    crashes(url, defaultTtlSeconds, roundsOf(options, defaultRounds)),
    crashes(url, shortestTtlSeconds, roundsOf(options, shortestRounds)),
  ]);
  const told = (times: readonly number[]): string => times.map((ms) => `${(ms / 1000).toFixed(1)} s`).join(", ");
  options.progress(`etcd, TTL of ${atDefault.ttlSeconds} s: ${told(atDefault.times)}`);
  options.progress(`etcd, TTL of ${atShortest.ttlSeconds} s: ${told(atShortest.times)}`);
  const [usual, shortest] = [atDefault, atShortest].map(
    ({ ttlSeconds }) => `etcd's election, lease of ${ttlSeconds} s`,
  );
  return [
    reported("etcd_default_ttl", atDefault.ttlSeconds, "s", "etcd, as etcdctl elect asks for it"),
    reported("etcd_default_ttl_crash_failover_p50", median(atDefault.times), "ms", usual),
    reported("etcd_default_ttl_crash_failover_max", Math.max(...atDefault.times), "ms", usual),
    reported("etcd_shortest_ttl", atShortest.ttlSeconds, "s", `etcd, asked for ${shortestTtlSeconds} s`),
    reported("etcd_shortest_ttl_crash_failover_p50", median(atShortest.times), "ms", shortest),
    reported("etcd_shortest_ttl_crash_failover_max", Math.max(...atShortest.times), "ms", shortest),
  ];
}

async function crashes(url: string, ttlSeconds: number, rounds: number) {
  const measured = await Promise.all(
    Array.from({ length: rounds }, async () => {
      const { leader, next, ttlSeconds: granted } = await candidates(url, ttlSeconds);
      await pause((Math.random() * granted * 1000) / 3);
      const leads = next.next("leads", patienceMs);
      const killedAt = leader.signal("SIGKILL");
      const { at } = await leads;
      next.kill();
      return { ms: msBetween(killedAt, at), granted };
    }),
  );
  return { times: measured.map(({ ms }) => ms), ttlSeconds: measured[0]?.granted ?? Number.NaN };
}

/** From the call of a leader that resigns to the win of the next candidate, back and forth. */
export async function benchEtcdResignations(url: string, options: BenchOptions): Promise<readonly Result[]> {
  const rounds = roundsOf(options, resignRounds);
  const name = electionName();
  let { leader, next } = await candidates(url, defaultTtlSeconds, name);
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const leads = next.next("leads");
    const { at: from } = await leader.ask({ kind: "resign" }, "steppingDown");
    times.push(msBetween(from, (await leads).at));
    [leader, next] = [next, leader];
    next.send({ kind: "campaignAgain" });
    await bothContend(url, name);
  }
  for (const candidate of [leader, next]) candidate.kill();
  options.progress(`etcd, resignation: p50 ${median(times).toFixed(1)} ms`);
  const peer = "etcd's election, the leader resigns";
  return [
    reported("etcd_resign_p50", median(times), "ms", peer),
    reported("etcd_resign_p95", percentile(times, 0.95), "ms", peer),
  ];
}

async function candidates(url: string, ttlSeconds: number, name = electionName()): Promise<Pair> {
  const [leader, next] = await Promise.all([
    new BenchProcess("etcdElection", url).loaded(),
    new BenchProcess("etcdElection", url).loaded(),
  ]);
  const leads = leader.next("leads");
  const granted = await leader.ask({ kind: "campaign", name, ttlSeconds }, "granted");
  await leads;
  await next.ask({ kind: "campaign", name, ttlSeconds }, "granted");
  await bothContend(url, name);
  return { leader, next, ttlSeconds: granted.ttlSeconds };
}

function electionName(): string {
  return `election-${++electionsNamed}`;
}

async function bothContend(url: string, name: string): Promise<void> {
  const etcd = new EtcdClient(url);
  while ((await etcd.candidates(name)) < 2) await pause(lookMs);
}
