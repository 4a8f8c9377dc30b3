import { type BenchOptions, roundsOf } from "../bench.js";
import { newerNode } from "../newer-node.js";
import { judged, type Result, reported } from "../result.js";
import { type BenchServer, startServer } from "../server.js";
import { median } from "../statistics.js";
import { benchGrowth } from "./queue-growth.js";
import type { QueueLoad } from "./queue-load.js";
import { benchRecovery } from "./queue-recovery.js";
import { type Rates, runOnce, type Subject } from "./queue-runs.js";

const usualMessages = 200_000;
const usualRounds = 3;
/** The peer that orders is so slow that it gets a tenth. A shorter backlog makes it faster. */
const orderedPeerShare = 0.1;
/** So much of a load goes through first, unmeasured. */
const warmUpShare = 0.05;

/** Ordered lanes next to the queues that order nothing, and to the one that does; what lanes, stages and time do to them. */
export async function benchQueue(options: BenchOptions): Promise<readonly Result[]> {
  const messages = options.messages ?? usualMessages;
  const execPath = await newerNode();
  const server = await startServer();
  const rates = await compare(server, subjectsOf(messages, execPath), options);
  const growth = await benchGrowth(server, messages, options);
  const recovery = await benchRecovery(server, messages, options);
  return [...resultsOf(rates), ...growth, ...recovery];
}

type Name = keyof ReturnType<typeof subjectsOf>;

function subjectsOf(messages: number, execPath: string) {
  const subject = (program: Subject["program"], load: Partial<QueueLoad>, extras: Partial<Subject> = {}): Subject => {
    const whole = { messages, lanes: 100, stages: 1, ...load };
    return { program, load: whole, warmUp: Math.ceil(whole.messages * warmUpShare), ...extras };
  };
  const ordered = Math.ceil(messages * orderedPeerShare);
  return {
    lanes: subject("holdfastQueue", {}),
    graphileWorker: subject("graphileWorker", { lanes: null }, { execPath }),
    pgBoss: subject("pgBoss", { lanes: null }, { execPath }),
    graphileWorkerOrdered: subject("graphileWorker", { messages: ordered }, { execPath }),
    oneLane: subject("holdfastQueue", { lanes: 1 }),
    manyLanes: subject("holdfastQueue", { lanes: 10_000 }),
    heldTransaction: subject("holdfastQueue", {}, { heldTransaction: true }),
    threeStages: subject("holdfastQueue", { stages: 3 }),
  } as const satisfies Record<string, Subject>;
}

/** All of them in turn, round after round; each round begins with another. */
async function compare(
  server: BenchServer,
  subjects: Readonly<Record<Name, Subject>>,
  options: BenchOptions,
): Promise<Readonly<Record<Name, readonly Rates[]>>> {
  const names = Object.keys(subjects) as Name[];
  const rates = Object.fromEntries(names.map((name) => [name, [] as Rates[]])) as Record<Name, Rates[]>;
  const rounds = roundsOf(options, usualRounds);
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(round * 3 + turn) % names.length] as Name;
      const run = await runOnce(server, subjects[name]);
      rates[name].push(run);
      const { endToEnd, enqueue, process } = run;
      const parts = `${enqueue.toFixed(0)} in, ${process.toFixed(0)} out`;
      options.progress(`round ${round + 1} of ${rounds}: ${name}: ${endToEnd.toFixed(0)} messages/s (${parts})`);
    }
  }
  return rates;
}

function resultsOf(rates: Readonly<Record<Name, readonly Rates[]>>): readonly Result[] {
  const rate = (name: Name, part: Exclude<keyof Rates, "inversions"> = "endToEnd"): number =>
    median(rates[name].map((run) => run[part]));
  const ratio = (of: Name, to: Name): number =>
    median(rates[of].map(({ endToEnd }, round) => endToEnd / (rates[to][round]?.endToEnd ?? Number.NaN)));
  const described = (name: Name, words: string): string => `${words}: ${rate(name).toFixed(0)} messages/s`;
  const inversions = rates.graphileWorkerOrdered.reduce((sum, run) => sum + run.inversions, 0);
  const unit = "messages/s";
  const graphile = "graphile-worker, local queue and batches, unordered";
  const boss = "pg-boss, batches of 500, unordered";
  const ordered = "graphile-worker, 100 named queues, ordered";
  const lanes = described("lanes", "100 lanes");
  return [
    judged(
      "queue_ratio_to_graphile_worker",
      ratio("lanes", "graphileWorker"),
      "x",
      ">= 1",
      described("graphileWorker", graphile),
    ),
    judged("queue_ratio_to_pg_boss", ratio("lanes", "pgBoss"), "x", ">= 2", described("pgBoss", boss)),
    judged(
      "queue_ratio_to_graphile_worker_ordered",
      ratio("lanes", "graphileWorkerOrdered"),
      "x",
      ">= 20",
      described("graphileWorkerOrdered", ordered),
    ),
    judged("queue_one_lane_ratio", ratio("oneLane", "lanes"), "x", ">= 0.5", lanes),
    judged("queue_10000_lanes_ratio", ratio("manyLanes", "lanes"), "x", ">= 0.7", lanes),
    judged("queue_held_transaction_ratio", ratio("heldTransaction", "lanes"), "x", ">= 0.7", lanes),
    reported("queue_rate", rate("lanes"), unit),
    reported("queue_enqueue_rate", rate("lanes", "enqueue"), unit),
    reported("queue_process_rate", rate("lanes", "process"), unit),
    reported("queue_one_lane_rate", rate("oneLane"), unit),
    reported("queue_10000_lanes_rate", rate("manyLanes"), unit),
    reported("queue_three_stages_rate", rate("threeStages"), unit),
    reported("graphile_worker_rate", rate("graphileWorker"), unit, graphile),
    reported("graphile_worker_enqueue_rate", rate("graphileWorker", "enqueue"), unit, graphile),
    reported("graphile_worker_process_rate", rate("graphileWorker", "process"), unit, graphile),
    reported("pg_boss_rate", rate("pgBoss"), unit, boss),
    reported("pg_boss_enqueue_rate", rate("pgBoss", "enqueue"), unit, boss),
    reported("pg_boss_process_rate", rate("pgBoss", "process"), unit, boss),
    reported("graphile_worker_ordered_rate", rate("graphileWorkerOrdered"), unit, ordered),
    reported("graphile_worker_ordered_inversions", inversions, "messages", ordered),
  ];
}
