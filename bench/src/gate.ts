import { setImmediate as yieldLoop } from "node:timers/promises";
import { pino } from "pino";
import { type BenchOptions, roundsOf } from "./bench.js";
import { atTheEnd } from "./cleanup.js";
import { createNode } from "./holdfast.js";
import { roleName } from "./messages.js";
import { judged, type Result, reported } from "./result.js";
import { startServer } from "./server.js";
import { median } from "./statistics.js";

const usualRounds = 300;
const blockMs = 4;

/** So many calls in a loop. Each outcome decides a branch and is counted, so that none can be left out as dead code. */
type Block = (calls: number) => number;
type Gate = Awaited<ReturnType<typeof startNodes>>["leader"]["gate"];

/** What it costs to ask "may I act, now?", next to the two clock reads that the answer needs. */
export async function benchGate(options: BenchOptions): Promise<readonly Result[]> {
  const { leader, standby } = await startNodes();
  const { gate } = leader;
  const { epoch } = gate.requireLeader();
  const blocks = blocksOf(gate, epoch, standby.gate);
  const timed = await timeInTurn(blocks, roundsOf(options, usualRounds), options);
  const ratio = (name: keyof typeof blocks): number => timed(name) / timed("clocks");
  const peer = "performance.now() and Date.now()";
  return [
    judged("gate_ratio", ratio("isLeader"), "x", "<= 2", peer),
    judged("gate_require_leader_ratio", ratio("requireLeader"), "x", "<= 2", peer),
    judged("gate_ensure_epoch_ratio", ratio("ensureEpoch"), "x", "<= 2", peer),
    reported("gate_is_leader", timed("isLeader"), "ns"),
    reported("gate_require_leader", timed("requireLeader"), "ns"),
    reported("gate_ensure_epoch", timed("ensureEpoch"), "ns"),
    reported("gate_is_leader_on_standby", timed("standby"), "ns"),
    reported("clock_reads", timed("clocks"), "ns", peer),
  ];
}

/** Written out five times: a loop that is given its check as a function would be compiled for all of them at once. */
function blocksOf(gate: Gate, epoch: bigint, standbyGate: Gate) {
  return {
    clocks(calls: number): number {
      let seen = 0;
      for (let call = 0; call < calls; call++) if (performance.now() + Date.now() > 0) seen += 1;
      return seen;
    },
    isLeader(calls: number): number {
      let seen = 0;
      for (let call = 0; call < calls; call++) if (gate.isLeader) seen += 1;
      return seen;
    },
    requireLeader(calls: number): number {
      let seen = 0;
      for (let call = 0; call < calls; call++) if (gate.requireLeader().epoch === epoch) seen += 1;
      return seen;
    },
    ensureEpoch(calls: number): number {
      let seen = 0;
      for (let call = 0; call < calls; call++) {
        gate.ensureEpoch(epoch);
        seen += 1;
      }
      return seen;
    },
    standby(calls: number): number {
      let seen = 0;
      for (let call = 0; call < calls; call++) if (!standbyGate.isLeader) seen += 1;
      return seen;
    },
  };
}

async function startNodes() {
  const server = await startServer();
  const start = async (nodeId: string) => {
    const node = await createNode({
      store: { url: server.url },
      cluster: { enabled: true, nodeId },
      logger: pino({ level: "silent" }),
    });
    atTheEnd(() => node.close());
    return node.role(roleName);
  };
  const leader = await start("leader");
  await new Promise((resolve) => leader.once("elected", resolve));
  return { leader, standby: await start("standby") };
}

/** Takes short blocks in turn, so that whatever else the machine does meets all of them alike. Answers with medians. */
async function timeInTurn<Name extends string>(
  blocks: Readonly<Record<Name, Block>>,
  rounds: number,
  options: BenchOptions,
): Promise<(name: Name) => number> {
  const names = Object.keys(blocks) as Name[];
  const times = new Map<Name, number[]>(names.map((name) => [name, []]));
  const calls = new Map<Name, number>();
  for (const name of names) calls.set(name, callsIn(blocks[name]));
  options.progress(`${rounds} rounds of ${names.length} blocks of about ${blockMs} ms`);
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(round + turn) % names.length] as Name;
      const count = calls.get(name) ?? 0;
      const from = process.hrtime.bigint();
      const counted = blocks[name](count);
      times.get(name)?.push(Number(process.hrtime.bigint() - from) / count);
      if (counted !== count) throw new Error(`${name}: leadership was lost while it was measured`);
      await yieldLoop();
    }
  }
  return (name) => median(times.get(name) ?? []);
}

/** How many calls fill a block; also warms the block up. */
function callsIn(block: Block): number {
  let perCallMs = 0;
  for (let repeat = 0; repeat < 20; repeat++) {
    const from = performance.now();
    block(20_000);
    perCallMs = (performance.now() - from) / 20_000;
  }
  return Math.max(1_000, Math.round(blockMs / perCallMs));
}
