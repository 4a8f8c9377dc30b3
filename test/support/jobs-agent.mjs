// One agent of the library in a process of its own, for tests that kill its leaders. It runs the built package, keeps what
// happened to its tasks, and tells it all over IPC when it is asked to stop.
import { setTimeout as pause } from "node:timers/promises";
import { Agent } from "../../dist/jobs.js";

const { name, urls, concurrency } = JSON.parse(process.argv[2]);
process.on("disconnect", () => process.exit());

/** [job_id, job_epoch, how it ended]; "dropped" where it was taken away while it ran. */
const runs = [];
const stale = [];
const refused = [];

async function work(payload, { jobId, jobEpoch, attempt, signal }) {
  const { ms = 0, fails = false } = payload ?? {};
  const run = [jobId, jobEpoch, "dropped"];
  runs.push(run);
  await pause(ms, undefined, { signal });
  signal.throwIfAborted();
  run[2] = fails && attempt === 1 ? "failed" : "succeeded";
  if (run[2] === "failed") throw new Error("it fails the first time");
  return { agent: name, job_epoch: jobEpoch };
}

const unheard = () => undefined;
const agent = new Agent({
  name,
  url: urls,
  concurrency,
  operations: { work, tick: work },
  heartbeatMs: 1_000,
  log: {
    debug: unheard,
    info: (_details, message) => message.startsWith("registered") && process.send({ kind: "ready" }),
    warn: ({ job_id, job_epoch }, message) => message.includes("came too late") && stale.push([job_id, job_epoch]),
    error: ({ job_id, job_epoch }, message) => message.includes("was refused") && refused.push([job_id, job_epoch]),
  },
});

process.on("message", () => {
  void stop();
});

async function stop() {
  await agent.stop();
  process.send({ kind: "account", runs, stale, refused, counts: agent.counts });
}

await agent.run();
