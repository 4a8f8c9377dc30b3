import { type BenchOptions, roundsOf } from "../bench.js";
import { judged, type Result, reported } from "../result.js";
import type { BenchServer } from "../server.js";
import { median } from "../statistics.js";
import { type OpenRun, openRun, runOnce, type Subject } from "./queue-runs.js";

const usualTurns = 3;

/**
 * The rate of a queue through which five loads (a million messages) have gone, next to that of the first quarter of a load
 * (50,000). Beginnings are measured in turn with it, each in a process and a database of its own: between the beginning of
 * this one and now the machine may have changed. Their processes are warmed up by as many messages in another queue.
 */
export async function benchGrowth(
  server: BenchServer,
  messages: number,
  options: BenchOptions,
): Promise<readonly Result[]> {
  const load = { messages: Math.ceil(messages / 4), lanes: 100, stages: 1 };
  const subject: Subject = { program: "holdfastQueue", load, warmUp: load.messages };
  const grown = await openRun(server, subject);
  const firsts = [(await grown.measure(load)).endToEnd];
  for (let seen = load.messages; seen < messages * 5; seen += load.messages) await grown.measure(load);
  options.progress(`${messages * 5} messages have gone through one queue`);
  const later = await inTurn(server, subject, grown, firsts, roundsOf(options, usualTurns));
  await grown.close();
  const words = `its first ${load.messages}: ${median(firsts).toFixed(0)} messages/s`;
  options.progress(`after them: ${median(later).toFixed(0)} messages/s (${words})`);
  return [
    judged("queue_after_a_million_ratio", median(later) / median(firsts), "x", ">= 0.9", words),
    reported("queue_after_a_million_rate", median(later), "messages/s"),
  ];
}

async function inTurn(
  server: BenchServer,
  subject: Subject,
  grown: OpenRun,
  firsts: number[],
  turns: number,
): Promise<readonly number[]> {
  const later: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    later.push((await grown.measure(subject.load)).endToEnd);
    firsts.push((await runOnce(server, subject)).endToEnd);
  }
  return later;
}
