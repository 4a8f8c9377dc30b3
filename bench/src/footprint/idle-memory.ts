import { setTimeout as pause } from "node:timers/promises";
import { type BenchOptions, roundsOf } from "../bench.js";
import { BenchProcess } from "../bench-process.js";
import { residentBytesOf } from "../process-memory.js";
import { type Result, reported } from "../result.js";
import type { BenchServer } from "../server.js";
import { median } from "../statistics.js";
import { startServe } from "./serve-process.js";
import { databaseFor } from "./start-up.js";

const usualRounds = 3;
/** After so long at rest what starting took has been collected, or never will be. */
const restMs = 30_000;
const trialRestMs = 5_000;

/** What a node that has nothing to do holds in memory, above a process of Node that is nothing else. */
export async function benchIdleMemory(server: BenchServer, options: BenchOptions): Promise<readonly Result[]> {
  if ((await residentBytesOf(process.pid)) === null) return [];
  const bare: number[] = [];
  const nodes: number[] = [];
  const serves: number[] = [];
  for (let round = 0; round < roundsOf(options, usualRounds); round++) {
    const processes = await startAll(server, round);
    await pause(options.rounds === null ? restMs : trialRestMs);
    bare.push(await megabytes(processes.bare.pid));
    nodes.push(await megabytes(processes.node.pid));
    serves.push(await megabytes(processes.serve.pid));
    for (const child of [processes.bare, processes.node]) child.kill();
    await processes.serve.stop();
  }
  const [floor, node, serve] = [median(bare), median(nodes), median(serves)];
  options.progress(
    `idle: ${node.toFixed(0)} MB with createNode, ${serve.toFixed(0)} MB with serve, ${floor.toFixed(0)} MB bare`,
  );
  const peer = `a bare process of Node: ${floor.toFixed(0)} MB`;
  return [
    reported("idle_node_memory", node - floor, "MB", `above ${peer}`),
    reported("idle_serve_memory", serve - floor, "MB", `above ${peer}`),
    reported("idle_node_rss", node, "MB", "a process with createNode in a cluster"),
    reported("idle_serve_rss", serve, "MB", "holdfast serve in a cluster"),
    reported("bare_process_rss", floor, "MB", "a process of Node that does nothing"),
  ];
}

/** Each in a database of its own, so that each of them leads. */
async function startAll(server: BenchServer, round: number) {
  const bare = await new BenchProcess("bareProcess", "").loaded();
  const node = await new BenchProcess("idleNode", await databaseFor(server, `idle_node_${round}`)).loaded();
  await node.ask({ kind: "run" }, "started");
  const serve = await startServe(await databaseFor(server, `idle_serve_${round}`));
  return { bare, node, serve };
}

async function megabytes(pid: number): Promise<number> {
  const bytes = await residentBytesOf(pid);
  if (bytes === null) throw new Error(`process ${pid} is gone`);
  return bytes / 1e6;
}
