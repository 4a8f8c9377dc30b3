import { setTimeout as pause } from "node:timers/promises";
import { type BenchOptions, roundsOf } from "./bench.js";
import { BenchProcess } from "./bench-process.js";
import { Cluster } from "./cluster.js";
import { benchEtcdCrashes, benchEtcdResignations } from "./etcd/etcd-failover.js";
import { startEtcd } from "./etcd/etcd-server.js";
import type { ProgramName } from "./programs.js";
import { judged, type Result, reported } from "./result.js";
import { type BenchServer, startServer } from "./server.js";
import { median, msBetween, percentile } from "./statistics.js";

const standbys = 2;
const crashRounds = 200;
const stepDownRounds = 50;
const stallRounds = 3;
const peerRounds = 5;
/** The default lease TTL of 5 s, and one beat of 1 s with its jitter of 20 %. */
const stallTarget = "<= 6.2";

/** How long a role stays without a leader after a crash, a step-down and a freeze, beside what else could be used. */
export async function benchFailover(options: BenchOptions): Promise<readonly Result[]> {
  const etcd = await startEtcd();
  const server = await startServer();
  const crashes = await benchCrashes(server, options);
  const stepDowns = await benchStepDowns(server, options);
  const resignations = await benchEtcdResignations(etcd, options);
  // These wait for timers most of the time, so they do not disturb each other.
  options.progress("stalls and peers, at the same time");
  const [stalls, pollers, leases, etcdCrashes] = await Promise.all([
    benchStalls(server, options),
    benchPeer(server, "lockPoller", options),
    benchPeer(server, "rowLease", options),
    benchEtcdCrashes(etcd, options),
  ]);
  return [...crashes, ...stepDowns, ...stalls, ...pollers, ...leases, ...etcdCrashes, ...resignations];
}

async function benchCrashes(server: BenchServer, options: BenchOptions): Promise<readonly Result[]> {
  const rounds = roundsOf(options, crashRounds);
  const cluster = new Cluster(server, { schema: "holdfast", standbys });
  const bare = new BareWait(server);
  const ours: number[] = [];
  const floor: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    await Promise.all([cluster.fill(), bare.prepare()]);
    await cluster.settled();
    floor.push(await bare.crash());
    await cluster.pauseAnywhere();
    ours.push((await cluster.crash()).ms);
    if (round % 20 === 0) {
      const sofar = `${median(ours).toFixed(1)} ms, bare session ${median(floor).toFixed(1)} ms`;
      options.progress(`crash ${round} of ${rounds}: p50 ${sofar}`);
    }
  }
  await cluster.close();
  bare.close();
  const peer = "a bare session that waits for the lock";
  return [
    judged("crash_failover_p50", median(ours), "ms", "<= 25"),
    judged("crash_failover_p95", percentile(ours, 0.95), "ms", "<= 60"),
    reported("crash_failover_max", Math.max(...ours), "ms"),
    judged("crash_failover_ratio", median(ours) / median(floor), "x", "<= 3", peer),
    reported("bare_session_p50", median(floor), "ms", peer),
    reported("bare_session_p95", percentile(floor, 0.95), "ms", peer),
  ];
}

/** One process holds the lock, another waits for it; the holder is killed, the waiter becomes the holder. */
class BareWait {
  private static readonly key = 4711;
  private readonly server: BenchServer;
  private holder: BenchProcess | null = null;
  private waiter: BenchProcess | null = null;

  constructor(server: BenchServer) {
    this.server = server;
  }

  async prepare(): Promise<void> {
    if (this.holder === null) {
      this.holder = await this.start();
      await this.holder.ask({ kind: "contend", key: BareWait.key }, "leads");
    }
    if (this.waiter === null) {
      this.waiter = await this.start();
      await this.waiter.ask({ kind: "contend", key: BareWait.key }, "waiting");
      await this.waits();
    }
  }

  private start(): Promise<BenchProcess> {
    return new BenchProcess("bareSession", this.server.url).loaded();
  }

  private async waits(): Promise<void> {
    for (;;) {
      const { rowCount } = await this.server.session.query(
        "select from pg_locks where locktype = 'advisory' and classid = 0 and objid = $1 and not granted",
        [BareWait.key],
      );
      if (rowCount === 1) return;
      await pause(10);
    }
  }

  async crash(): Promise<number> {
    const { holder, waiter } = this;
    if (holder === null || waiter === null) throw new Error("the bare sessions are not ready");
    const leads = waiter.next("leads");
    const killedAt = holder.signal("SIGKILL");
    const { at } = await leads;
    this.holder = waiter;
    this.waiter = null;
    return msBetween(killedAt, at);
  }

  close(): void {
    this.holder?.kill();
    this.waiter?.kill();
  }
}

async function benchStepDowns(server: BenchServer, options: BenchOptions): Promise<readonly Result[]> {
  const rounds = roundsOf(options, stepDownRounds);
  const cluster = new Cluster(server, { schema: "stepdown", standbys });
  const times: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    await cluster.fill();
    await cluster.settled();
    await cluster.pauseAnywhere();
    const { ms, from } = await cluster.stepDown();
    times.push(ms);
    // It keeps off the role for one TTL; a fresh node takes its place instead.
    cluster.remove(from);
    if (round % 25 === 0) options.progress(`step-down ${round} of ${rounds}: p50 ${median(times).toFixed(1)} ms`);
  }
  await cluster.close();
  return [
    judged("step_down_p50", median(times), "ms", "<= 10"),
    reported("step_down_p95", percentile(times, 0.95), "ms"),
  ];
}

async function benchStalls(server: BenchServer, options: BenchOptions): Promise<readonly Result[]> {
  const rounds = roundsOf(options, stallRounds);
  const stalls = await Promise.all(
    Array.from({ length: rounds }, async (_, round) => {
      const cluster = new Cluster(server, { schema: `stall_${round}`, standbys, spares: 0 });
      await cluster.fill();
      await cluster.settled();
      await cluster.pauseAnywhere();
      const stall = await cluster.freeze();
      await cluster.close();
      return stall;
    }),
  );
  const longestMs = Math.max(...stalls.map(({ ms }) => ms));
  const early = stalls.filter(({ ms, leaseEndsAfterMs }) => ms < leaseEndsAfterMs).length;
  return [
    judged("stall_failover_max", longestMs / 1000, "s", stallTarget),
    judged("stall_takeovers_before_lease_end", early, "takeovers", "<= 0"),
  ];
}

const peers = {
  lockPoller: { name: "lock_poller", says: "advisory lock, tried every 5 s", spreadMs: 5_000 },
  rowLease: { name: "row_lease", says: "lease of 15 s, looked at every 2 s", spreadMs: 2_000 },
} as const satisfies Partial<Record<ProgramName, { name: string; says: string; spreadMs: number }>>;

/** Rounds side by side, each with a key of its own; the kills are spread over the peer's interval. */
async function benchPeer(
  server: BenchServer,
  program: keyof typeof peers,
  options: BenchOptions,
): Promise<readonly Result[]> {
  const { name, says, spreadMs } = peers[program];
  if (program === "rowLease") {
    await server.session.query(
      "create table row_leases (key integer primary key, holder integer not null, expires_at timestamptz not null)",
    );
  }
  const times = await Promise.all(
    Array.from({ length: roundsOf(options, peerRounds) }, async (_, key) => {
      const holder = await new BenchProcess(program, server.url).loaded();
      await holder.ask({ kind: "contend", key }, "leads");
      const standby = await new BenchProcess(program, server.url).loaded();
      await standby.ask({ kind: "contend", key }, "waiting");
      await pause(Math.random() * spreadMs);
      const leads = standby.next("leads");
      const killedAt = holder.signal("SIGKILL");
      const { at } = await leads;
      standby.kill();
      return msBetween(killedAt, at);
    }),
  );
  options.progress(`${name}: ${times.map((ms) => `${(ms / 1000).toFixed(1)} s`).join(", ")}`);
  return [
    reported(`${name}_crash_failover_p50`, median(times), "ms", says),
    reported(`${name}_crash_failover_max`, Math.max(...times), "ms", says),
  ];
}
