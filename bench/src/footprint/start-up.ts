import { type BenchOptions, roundsOf } from "../bench.js";
import { BenchProcess } from "../bench-process.js";
import { type Result, reported } from "../result.js";
import type { BenchServer } from "../server.js";
import { median, percentile } from "../statistics.js";
import { startServe } from "./serve-process.js";

const usualRounds = 10;

/** From the start of a process to its first answer, and from `createNode` to `elected`, by turns. */
export async function benchStartUp(server: BenchServer, options: BenchOptions): Promise<readonly Result[]> {
  const url = await databaseFor(server, "start_up");
  const first = await startServe(url);
  await first.stop();
  const answered: number[] = [];
  const leads: number[] = [];
  const elected: number[] = [];
  for (let round = 0; round < roundsOf(options, usualRounds); round++) {
    const serve = await startServe(url);
    answered.push(serve.answeredMs);
    leads.push(serve.leadsMs);
    await serve.stop();
    const node = await new BenchProcess("idleNode", url).loaded();
    elected.push((await node.ask({ kind: "run" }, "started")).electedMs);
    await node.ask({ kind: "stop" }, "stopped");
    node.kill();
  }
  options.progress(
    `holdfast serve answers after p50 ${median(answered).toFixed(0)} ms, createNode leads after ${median(elected).toFixed(0)} ms`,
  );
  return [
    reported("serve_start_up_p50", median(answered), "ms", "process start to the first answer of /role"),
    reported("serve_start_up_p95", percentile(answered, 0.95), "ms", "process start to the first answer of /role"),
    reported("serve_start_up_to_leader_p50", median(leads), "ms", "process start to /role saying LEADER"),
    reported("serve_first_start_up", first.answeredMs, "ms", "the same as the first, on an empty database"),
    reported(
      "create_node_to_elected_p50",
      median(elected),
      "ms",
      "the call to `elected`, schema present, nobody leads",
    ),
  ];
}

export async function databaseFor(server: BenchServer, name: string): Promise<string> {
  await server.session.query(`create database ${name}`);
  const url = new URL(server.url);
  url.pathname = name;
  return url.href;
}
