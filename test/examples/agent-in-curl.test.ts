import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createTestDatabase } from "../support/postgres.js";
import { isMissing } from "../support/programs.js";
import { ServeCluster } from "../support/serve-cluster.js";
import type { ServeProcess } from "../support/serve-process.js";

const script = join(import.meta.dirname, "../../examples/agent-in-curl.sh");

/** The agent as its user runs it, until the guard is disposed. */
function startAgent(url: string, token: string): AsyncDisposable {
  const child = spawn("sh", [script, url, "curl-agent"], {
    env: { ...process.env, HOLDFAST_TOKEN: token },
    stdio: "ignore",
    detached: true,
  });
  const exited = once(child, "exit");
  return {
    [Symbol.asyncDispose]: async () => {
      // Its curl goes with it.
      process.kill(-(child.pid ?? 0), "SIGKILL");
      await exited;
    },
  };
}

it.skipIf(isMissing("curl"))("an agent in plain curl finds the leader, works, and goes on after a crash", async () => {
  await using database = await createTestDatabase();
  await using cluster = await ServeCluster.start(database.url, 2);
  const leader = await cluster.leader();
  const [standby] = (await cluster.standbys()) as [ServeProcess];
  const tokenOf = async (name: string, role: string, headers = {}) =>
    (await leader.post<{ secret: string }>("/tokens", { name, role }, headers)).secret;
  const ops = { authorization: `Bearer ${await tokenOf("ops", "admin")}` };
  const token = await tokenOf("curl-agent", "agent", ops);
  await using _agent = startAgent(standby.url, token);

  const run = async (node: ServeProcess, jobId: string, op = "hello") => {
    await node.post("/v1/jobs", { op, job_id: jobId, payload: { job_id: "not this one" } }, ops);
    const path = `/v1/jobs/${jobId}?wait_ms=20000`;
    const answer = await fetch(`${node.url}${path}`, { headers: ops, signal: AbortSignal.timeout(30_000) });
    return (await answer.json()) as object;
  };
  const done = { state: "succeeded", agent: "curl-agent", result: "hello from curl-agent", progress: "half" };
  expect(await run(leader, "first")).toMatchObject({ ...done, leader_epoch: 1 });
  expect(await run(leader, "second", "unknown")).toMatchObject({
    state: "failed",
    error: "this agent does not know unknown",
  });
  leader.kill("SIGKILL");
  await cluster.leader([standby]);
  expect(await run(standby, "third")).toMatchObject({ ...done, leader_epoch: 2 });
});
