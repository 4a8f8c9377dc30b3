import type { BenchOptions } from "../bench.js";
import type { BenchProcess } from "../bench-process.js";
import { bodyOf } from "../queue/queue-load.js";
import { judged, type Result, reported } from "../result.js";
import type { BenchServer } from "../server.js";
import { median, msBetween, percentile } from "../statistics.js";

const usualJobs = 400;
const blockSize = 50;

/** How soon an agent that waits has a job that somebody submits, next to what the disk alone takes to have it. */
export async function benchPickUp(
  server: BenchServer,
  agents: BenchProcess,
  options: BenchOptions,
): Promise<readonly Result[]> {
  const jobs = Math.min(usualJobs, options.messages ?? usualJobs);
  await server.session.query("create table bare_commits (body text not null)");
  await agents.ask({ kind: "wait", agents: 1, withinMs: 0 }, "waiting");
  const times: number[] = [];
  const commits: number[] = [];
  while (times.length < jobs) {
    times.push(...(await pickUps(agents, Math.min(blockSize, jobs - times.length))));
    commits.push(...(await bareCommits(server)));
  }
  const [p50, p95] = [median(times), percentile(times, 0.95)];
  const floor = `the commit of a bare INSERT: p50 ${median(commits).toFixed(1)} ms`;
  options.progress(`an idle agent has a job after p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms (${floor})`);
  return [
    judged("jobs_pick_up_p50", p50, "ms", "<= 10", floor),
    judged("jobs_pick_up_p95", p95, "ms", "<= 25", `the same: p95 ${percentile(commits, 0.95).toFixed(1)} ms`),
    reported("jobs_pick_up_max", Math.max(...times), "ms"),
    reported("jobs_pick_up_ratio", p50 / median(commits), "x", floor),
  ];
}

export async function pickUps(agents: BenchProcess, jobs: number): Promise<readonly number[]> {
  return (await agents.ask({ kind: "pickUp", jobs }, "pickedUp")).times;
}

async function bareCommits({ session }: BenchServer): Promise<readonly number[]> {
  const times: number[] = [];
  for (let number = 0; number < blockSize; number++) {
    const from = process.hrtime.bigint();
    await session.query("insert into bare_commits values ($1)", [bodyOf(number)]);
    times.push(msBetween(from, process.hrtime.bigint()));
  }
  return times;
}
