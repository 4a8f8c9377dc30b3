import { setMaxListeners } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Random } from "../simulation/random.js";
import { withClient } from "../support/postgres.js";
import { monotonicMs } from "./clock.js";
import { Cluster } from "./cluster.js";
import { FaultCampaign } from "./fault-campaign.js";
import type { FaultKind, HistoryEvent, ResourceEvent } from "./history.js";
import type { Network } from "./network.js";
import type { NodeTask } from "./node-order.js";
import { timings } from "./node-settings.js";
import { mergeHistories, Recorder } from "./recorder.js";
import { missingRejections } from "./summary.js";
import { keepLogs, openWorkFolder } from "./work-folder.js";
import type { Scene, Workload } from "./workload.js";

export interface TortureOptions {
  readonly dist: string;
  readonly commit: string;
  readonly seed: number;
  readonly minutes: number;
  readonly faults: readonly FaultKind[];
  /** Refusals that these faults must bring about. */
  readonly rejections: readonly string[];
  readonly network: Network["kind"];
  /** How many nodes. */
  readonly size: number;
  readonly workloads: readonly Workload[];
  /** Where the logs of nodes and server are kept beyond the run. Left out: nowhere. */
  readonly logs?: string;
  /** A line about how it goes, now and then. */
  readonly tell: (line: string) => void;
  /** Gives the run up; everything is cleaned up all the same. */
  readonly signal: AbortSignal;
}

export interface Tortured {
  readonly history: readonly HistoryEvent[];
  /** Processes that ended by themselves. */
  readonly collapses: readonly string[];
}

const longestGapMs = 10_000;
const progressEveryMs = 5_000;
const quietMs = 3_000;
const keptOpenMs = 6_000;
/** Faults that leave a session without an answer, and a little more than the time for which a node waits for one. */
const silences: ReadonlySet<FaultKind> = new Set(["reply_lost_after_commit", "database_failover"]);
const longestSilenceMs = 32_000;

/** One run from an empty machine to an empty machine. */
export async function torture(options: TortureOptions): Promise<Tortured> {
  await using folder = await openWorkFolder();
  const nodes = join(folder.path, "nodes");
  mkdirSync(nodes, { recursive: true });
  const recorder = new Recorder(folder.path);
  const { dist, network, size } = options;
  options.tell(`preparing ${size} nodes and a database, ${network}`);
  await using cluster = await Cluster.prepare({ dist, network, size, folder: folder.path, log: recorder.log });
  const load = new AbortController();
  setMaxListeners(0, load.signal, options.signal);
  options.signal.addEventListener("abort", () => load.abort());
  const scene = sceneOf(cluster, recorder, options.seed, load.signal);
  try {
    const task = await prepareLoad(scene, options);
    recorder.log(runEvent(options, task));
    await cluster.open(task);
    const historySoFar = async (): Promise<readonly HistoryEvent[]> => await mergeHistories(recorder.events, nodes);
    await runLoad(cluster, scene, load, options, { recorder, historySoFar });
    await cluster.close();
    const history = await historySoFar();
    return { history, collapses: cluster.seats.flatMap(({ collapses }) => collapses) };
  } finally {
    load.abort();
    recorder.flush();
    for (const workload of options.workloads) await workload[Symbol.asyncDispose]();
    if (options.logs !== undefined) await keepLogs(folder.path, options.logs);
  }
}

async function prepareLoad(scene: Scene, { workloads, signal }: TortureOptions): Promise<Partial<NodeTask>> {
  const task: Partial<NodeTask> = {};
  for (const workload of workloads) Object.assign(task, await workload.prepare(scene));
  signal.throwIfAborted();
  return task;
}

interface Told {
  readonly recorder: Recorder;
  readonly historySoFar: () => Promise<readonly HistoryEvent[]>;
}

async function runLoad(
  cluster: Cluster,
  scene: Scene,
  load: AbortController,
  { workloads, tell, signal, minutes, seed, faults, rejections }: TortureOptions,
  { recorder, historySoFar }: Told,
): Promise<void> {
  const running = workloads.map((workload) => workload.run(scene));
  const all = Promise.all(running);
  // It is awaited below; until then a failure must not pass for one that nobody waits for.
  all.catch(() => load.abort());
  await pause(quietMs, undefined, { signal });
  await tellResources(cluster, recorder, "baseline");
  const isRefusedEnough = async (): Promise<boolean> =>
    missingRejections(await historySoFar(), rejections).length === 0;
  const campaign = new FaultCampaign({
    cluster,
    load: scene,
    seed,
    faults,
    log: recorder.log,
    isRefusedEnough,
    signal: scene.signal,
  });
  const progress = setInterval(() => tell(campaign.progress()), progressEveryMs);
  try {
    await campaign.run(minutes * 60_000);
  } finally {
    clearInterval(progress);
  }
  signal.throwIfAborted();
  tell("the faults are over; everything that was taken in is worked off");
  await pause(quietMs, undefined, { signal });
  load.abort();
  await all;
  await pause(silenceLeftMs(recorder.events), undefined, { signal });
  for (const workload of workloads) await workload.settle(scene);
  signal.throwIfAborted();
  // Connections that clients keep for their next request are closed by then.
  await pause(keptOpenMs, undefined, { signal });
  await tellResources(cluster, recorder, "after");
}

/** Until whoever waits for an answer that was swallowed has given it up: what it holds back meanwhile is not to be seen. */
function silenceLeftMs(events: readonly HistoryEvent[]): number {
  const last = events.findLast((event) => event.kind === "fault" && silences.has(event.fault));
  return last === undefined ? 0 : Math.max(0, last.at + longestSilenceMs - monotonicMs());
}

function runEvent({ seed, commit, minutes, faults }: TortureOptions, task: Partial<NodeTask>): HistoryEvent {
  const { ttlMs, fenceMs } = timings;
  const bounds = { ttlMs, fenceMs, batch: task.queue?.batch ?? 0, longestGapMs };
  return { by: "orchestrator", at: monotonicMs(), kind: "run", seed, commit, minutes, faults, ...bounds };
}

function sceneOf(cluster: Cluster, { log }: Recorder, seed: number, signal: AbortSignal): Scene {
  return {
    places: cluster.seats.map(({ place }) => place),
    directUrl: () => cluster.database.ownerUrl,
    token: cluster.token,
    outsideHost: cluster.network.outside,
    random: new Random(seed + 1),
    log,
    signal,
  };
}

async function tellResources(cluster: Cluster, { log }: Recorder, when: ResourceEvent["when"]): Promise<void> {
  await Promise.all(cluster.seats.map(({ process }) => process.ask({ command: "resources", when })));
  const sessions = await withClient(cluster.database.url, async (client) => {
    const { rows } = await client.query<{ sessions: number }>(
      "SELECT count(*)::integer AS sessions FROM pg_stat_activity WHERE usename = 'app'",
    );
    return rows[0]?.sessions ?? 0;
  });
  log({ by: "orchestrator", at: monotonicMs(), kind: "resources", when, of: "database", sessions });
}
